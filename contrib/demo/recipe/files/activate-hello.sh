export HPCENV_DEMO_HELLO="hello from ${CONDA_PREFIX}"
