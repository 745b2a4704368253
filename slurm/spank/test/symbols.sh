#!/bin/sh
# Only what Slurm looks up may be exported: a symbol "init" would be called by
# Slurm's loader, and any other could collide inside srun.
so=$1
nm=${NM:-nm}
exported=$($nm -D --defined-only "$so" | awk '{print $3}' | sed 's/@.*//' | sort)
want='plugin_name
plugin_type
plugin_version
slurm_spank_exit
slurm_spank_init
slurm_spank_init_post_opt
slurm_spank_local_user_init
slurm_spank_task_init
slurm_spank_task_init_privileged
spank_plugin_version'
if [ "$exported" != "$want" ]; then
	echo "FAIL symbols: $so exports"
	echo "$exported"
	echo "but should export"
	echo "$want"
	exit 1
fi
# Nothing of libslurm but SPANK's own calls may be needed, and every one must
# exist in each tested version; slurm_api_version is looked up at run time.
undefined=$($nm -D --undefined-only "$so" | awk '{print $2}' | grep -E '^(slurm|spank)' | sort)
for s in $undefined; do
	case $s in
	slurm_error | slurm_info | spank_context | spank_get_item | spank_setenv | spank_unsetenv | spank_option_register | \
		spank_job_control_setenv | spank_job_control_unsetenv) ;;
	*)
		echo "FAIL symbols: $so needs $s"
		exit 1
		;;
	esac
done
if ! readelf -d "$so" | grep -q 'BIND_NOW'; then
	echo "FAIL symbols: $so is not linked with -z now"
	exit 1
fi
echo "ok   symbols of $so"
