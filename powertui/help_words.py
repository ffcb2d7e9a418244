"""The words of `powertui --help`, written by scripts/completions.py from the parser."""

# fmt: off
USAGE = ('usage: powertui',
 ('[-h]', '[--completions SHELL]', '[--clear-cache]', '[--licenses]', '[--version]'),
 'VERB ...')
DESCRIPTION = "Where a training run's time and energy went, in a terminal."
GROUPS = (('positional arguments',
  (('  VERB', ''),
   ('    open               ',
    'browse a logdir, a run or one profile (the verb may be left out)'),
   ('    report             ', "print the facts of each run, or one tool's table"),
   ('    doctor             ', 'show what was found, what is missing, why, and what to do'),
   ('    energy             ', 'print joules per epoch and step, with intervals'),
   ('    compare            ', 'compare two runs, two groups of runs, or two parts of one'),
   ('    check              ', 'hold runs against limits or a saved baseline, for a CI'),
   ('    baseline           ', 'save the figures of good runs, to hold others against'),
   ('    export             ',
    'write a window of a run as CSV, Parquet, Perfetto JSON or OpenMetrics'),
   ('    note               ', 'write, list or delete notes on a run'),
   ('    record             ', 'sample power into a CSV file, alone or around a command'),
   ('    live               ', 'watch power while a run trains, and record it'),
   ('    capture            ',
    'take a profile from a TensorFlow or JAX program that runs, with power around it'),
   ('    sensors            ',
    'list the power sensors here or on a BMC, and why others cannot be read'),
   ('    demo               ', 'open the recorded run that ships with powertui'))),
 ('options',
  (('  -h, --help           ', 'show this help message and exit'),
   ('  --completions SHELL  ',
    'print completions for bash, zsh or fish; `man` prints the man page'),
   ('  --clear-cache        ', 'delete what was fetched from other machines'),
   ('  --licenses           ',
    'print the packages that powertui uses, with versions and licenses'),
   ('  --version            ', "show program's version number and exit"))))
EPILOG = ('examples:\n'
 '  powertui ~/logs                              browse the runs of a logdir\n'
 '  powertui vm.xplane.pb power.csv              one profile with its power log\n'
 '  powertui run_a run_b                         both; R switches between them\n'
 '  powertui RUN --at 27.31s-28.78s              this stretch, marked in the timeline\n'
 '  powertui RUN --svg found.svg --page findings\n'
 '                                               a page as a picture, without a terminal\n'
 '  powertui report ~/logs --json                the same facts, for a script\n'
 '  powertui report ~/logs --brief               what matters, in 4 kB of JSON\n'
 '  powertui report ~/logs --html run.html       a page to send: charts, findings, tables\n'
 "  powertui report ~/logs --tool kernel_stats   one tool's table\n"
 '  powertui doctor ~/logs                       what is there, what is missing, what to do\n'
 '  powertui doctor ~/logs --power power.csv     also whether this power log fits\n'
 '  powertui doctor --power power.csv            what this power log holds, without a run\n'
 '  powertui doctor --power a.csv --watts-col P  the same, of the columns that are named\n'
 '  powertui energy ~/logs --power power.csv     joules per epoch and step\n'
 '  powertui energy ~/logs --from 19:52:50 --to 19:53:10\n'
 '                                               joules between two times of the training\n'
 '  powertui energy --job 12345 --power prometheus://server:9090\n'
 '                                               joules of a job, without a profile\n'
 '  powertui compare old/ new/                   two runs, or all runs of two folders\n'
 '  powertui compare base/* -- new/*             two groups: from three runs a side, run to '
 'run\n'
 '  powertui compare ~/logs --epoch 0 --epoch 1  two epochs of one run\n'
 '  powertui check run/* --max J/step=24 --max step_s=50ms\n'
 '                                               fixed limits\n'
 '  powertui check run/* --against main --tolerance 3%\n'
 '                                               no worse than a saved baseline\n'
 '  powertui check run/* --against main --md --junit check.xml\n'
 '                                               for a pull request\n'
 '  powertui baseline save main run/*            from runs, or folders of them\n'
 '  powertui baseline save main tonight/* --add  with those of the nights before\n'
 '  powertui baseline list --dir .baselines      those in a folder that a CI caches\n'
 '  powertui baseline show main                  its figures and how they vary\n'
 '  powertui export ~/logs --epoch 1 --steps 185-258\n'
 '                                               these steps, as CSV\n'
 '  powertui export ~/logs --at 27.31s-28.78s    a place that y copied\n'
 '  powertui export ~/logs --marked -o window    the window marked last in the timeline\n'
 '  powertui export ~/logs --what openmetrics -o run.om\n'
 '                                               power and steps for Prometheus\n'
 '  powertui note RUN TEXT --at 27.31s-28.78s    a note at a place\n'
 '  powertui note RUN                            the notes of a run\n'
 '  powertui note RUN --delete 3f2a              delete the note whose id begins with this\n'
 '  powertui record --host bmc -o power.csv -- python train.py\n'
 '                                               power of this command, from start to end\n'
 '  powertui record --profile-server 9012 --logdir ~/logs --steps 100-110 -- python train.py\n'
 '                                               and a profile of ten steps\n'
 '  powertui record --exporter :9400 -o power.csv\n'
 '                                               and Prometheus can scrape what is read\n'
 '  powertui record --source rapl: --duration 60\n'
 "                                               a minute of this machine's own counters\n"
 '  powertui live --host bmc                     watch the power while a run trains\n'
 '  powertui live --host bmc --budget 4kWh       and when this much energy will be used up\n'
 '  powertui live --replay power.csv             a recording, played again\n'
 '  powertui capture localhost:9012 --logdir ~/logs\n'
 '                                               2 s of a running program, then its timeline\n'
 '  powertui capture a:9012 b:9012 -t 5s --logdir /shared/logs --host bmc-a --host bmc-b\n'
 '                                               two hosts, and the power of both\n'
 '  powertui sensors                             what this machine can read, and why not the '
 'rest\n'
 '  powertui sensors --host bmc                  the power sensors there\n'
 '  powertui demo                                a recorded run; nothing to download\n'
 '  powertui demo --report                       the same run as text\n'
 '  powertui demo --svg demo.svg --page findings\n'
 '                                               a page of it as a picture\n'
 '\n'
 'exit codes: 0 done, 1 failed, 2 wrong usage or no terminal, 3 nothing readable, 130/143/129 '
 'interrupted; of check: 0 within, 1 above, 3 cannot say')
