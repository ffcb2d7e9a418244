"""A monkey at the keyboard: random keys, pastes, mouse and window sizes on every screen, until
something breaks.

    make monkey                                    a few minutes of it on all cores
    python -m tests.monkey --seed 7 --keys 5000    the same episodes again, whatever the machine
    python -m tests.monkey --world demo --size 80x24 --script "w w m ] m"      one episode, key by
    key
    python -m tests.monkey --pty                   the real program in a real terminal (slower)

A seed is an episode: one start of the program, the keys, and the end. What breaks is shrunk to the
keys that it takes, and printed as the command that shows it again. `script` knows the keys,
`worlds` what is opened, `play` drives the application in this process, `pty` the program in a
terminal; `late` slows threads as a starved machine does.
"""
