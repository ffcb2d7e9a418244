#!/bin/bash
# sbatch slurm-check.sh: train five times on one node, and hold the runs against the baseline
# "main". The state of the job is the answer. `sbatch slurm-check.sh add` adds the runs to the
# baseline instead: five to ten nights show what days do to the node (scrontab starts it nightly).
#SBATCH --job-name=speed
#SBATCH --nodes=1
#SBATCH --exclusive
#SBATCH --time=00:30:00
set -u
export POWERTUI_BASELINES=${POWERTUI_BASELINES:-$HOME/baselines}
runs=runs/$SLURM_JOB_ID

for i in 1 2 3 4 5; do
  # With power: srun powertui record --source rapl: -o "$runs/$i/power.csv" -- python train.py ...
  srun python train.py --profile "$runs/$i" || exit
done

if [ "${1:-}" = add ]; then
  powertui baseline save main "$runs"/* --add
  exit
fi
powertui check "$runs"/* --against main --tolerance 3% --json > "$runs/check.json"
code=$?
python -c 'import json, sys; print(json.load(open(sys.argv[1]))["sentence"])' "$runs/check.json"
exit $code
