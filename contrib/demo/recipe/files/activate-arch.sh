# Differs from node to node: it can only be computed where the job runs.
HPCENV_DEMO_ARCH="$(uname -m)"
export HPCENV_DEMO_ARCH
export HPCENV_DEMO_SEARCH="${CONDA_PREFIX}/share/hpcenv-demo/${HPCENV_DEMO_ARCH}${HPCENV_DEMO_SEARCH:+:${HPCENV_DEMO_SEARCH}}"
