"""Temporary."""


def find_calibration(key: str) -> None:
    return None
