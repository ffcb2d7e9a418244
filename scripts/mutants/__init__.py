"""Do the tests hold? Small faults are put into a copy of the program, one by one."""
