#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --gres=gpu:1

load module cuda/9.2
singularity run container.simg train.py --nv
