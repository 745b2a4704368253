# hpcenv: /etc/profile.d/zz-hpcenv.sh, on every node. A job script that begins
# with "#!/bin/bash -l" reads /etc/profile, which sets PATH anew on many systems;
# without this its "python" would be the node's. Steps do not need it: the plugin
# puts the environment back into a PATH that lost it.
if [ -n "${HPCENV_ACTIVE:-}" ] && [ -n "${SLURM_JOB_ID:-}" ] && [ -d "${CONDA_PREFIX:-}/conda-meta" ]; then
	case ":$PATH:" in
	*":$CONDA_PREFIX/bin:"*) ;;
	*) PATH=$CONDA_PREFIX/bin${PATH:+:$PATH} ;;
	esac
fi
