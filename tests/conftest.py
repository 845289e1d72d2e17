"""How long properties are tried: a sample by default, at length in `make prove`."""

import os

import hypothesis

hypothesis.settings.register_profile("sample", max_examples=60, deadline=None)
hypothesis.settings.register_profile("prove", max_examples=2_000, deadline=None)
hypothesis.settings.load_profile("prove" if os.environ.get("SHUTTEN_PROVE") else "sample")
