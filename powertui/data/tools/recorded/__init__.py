"""Results that the profiler's own tools stored beside a profile, or without one."""
