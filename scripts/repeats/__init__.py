"""Short trainings recorded again and again, with and without one slower op: runs of one program
differ by what the machine does, and nothing else."""
