"""The zygote that reads documents: imports every reader once, forks a confined child for each."""

import sys

from gateway.extract.formats import read_document
from gateway.extract.serving import IDLE_S, serve
from gateway.extract.warm import warm_up

if __name__ == "__main__":
    serve(read_document, warm_up, float(sys.argv[1]) if len(sys.argv) > 1 else IDLE_S)
