#!/bin/sh
# A helper for the tests. Files of the directory named by --store say what it
# does: VERB.exit (code), VERB.say (stderr, or stdout for attach), VERB.sleep,
# VERB.crash, VERB.answer (raw bytes), VERB.leave (leave a child with stdout).
verb=$2
for a in "$@"; do
	case $a in --store=*) d=${a#--store=} ;; esac
done
echo "call $* environment $(env | grep -c -v -E '^(PWD|SHLVL|_)=') pid $$" >> "$d/log"
if [ -e "$d/$verb.crash" ]; then kill -SEGV $$; fi
if [ -e "$d/$verb.sleep" ]; then
	seconds=$(cat "$d/$verb.sleep")
	echo begun >> "$d/log"
	exec sleep "$seconds"
fi
if [ -e "$d/$verb.leave" ]; then sleep 3 & fi
if [ -e "$d/$verb.say" ]; then
	if [ "$verb" = attach ]; then cat "$d/$verb.say"; else cat "$d/$verb.say" >&2; fi
fi
if [ -e "$d/$verb.exit" ]; then exit "$(cat "$d/$verb.exit")"; fi
if [ -e "$d/$verb.answer" ]; then cat "$d/$verb.answer"; exit 0; fi
case $verb in
submit) printf 'pin=1:tree:{}\0scope=1;constraint=\0set=SHELL_SET=a=b\0unset=SHELL_UNSET\0' ;;
activate) printf 'set=PATH=/e/bin:/usr/bin\0unset=PYTHONPATH\0set=EMPTY=\0' ;;
esac
exit 0
