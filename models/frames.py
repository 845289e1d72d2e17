"""The frames between the gateway and its embedding worker."""

import struct

REQUEST = struct.Struct("<IBI")  # number, kind (QUERY or PASSAGE), bytes of UTF-8 text
REPLY = struct.Struct("<IBI")  # number, status, bytes of float32 vector or of a reason
QUERY, PASSAGE = 0, 1
READY, VECTOR, FAILED = 0, 1, 2
