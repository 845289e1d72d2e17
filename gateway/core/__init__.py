"""The pure rules and the value types they speak: no I/O, no clock, no await, no logging."""
