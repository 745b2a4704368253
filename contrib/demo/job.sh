#!/bin/sh
#SBATCH --env-lock=.
srun python probe.py
