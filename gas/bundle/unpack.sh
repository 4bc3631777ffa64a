#!/bin/sh
# Gas in one file. It unpacks itself once, below $GAS_CACHE or ~/.cache/gas, and runs from there: gas guide login-nodes
key=@KEY@
skip=@SKIP@

own() { # FOLDER: nobody else can have put something there
    [ ! -h "$1" ] && [ -O "$1" ]
}

unpack() ( # FOLDER: unpack into it, beside other processes that do the same; says why it cannot
    mkdir -p "${1%/*}" && mkdir -m 700 "$1"
    [ -d "$1" ] || { echo 'cannot be made'; exit 1; }
    $safe "$1" || { echo 'belongs to somebody else'; exit 1; }
    new=$(mktemp -d "$1/.unpacking-XXXXXX") || { echo 'cannot be written'; exit 1; }
    trap 'rm -rf "$new"' EXIT
    trap 'exit 130' HUP INT TERM
    { tail -c "+$skip" "$0" | gzip -dc || : > "$new/damaged"; } | tar -xmof - -C "$new" && [ ! -e "$new/damaged" ] ||
        { echo 'has too little space, or this file is damaged'; exit 1; }
    [ -x "$new/gas" ] && "$new/gas" --version > /dev/null < /dev/null ||
        { echo 'lets no programs run (noexec), or this is no x86-64 Linux with glibc 2.28 or later'; exit 1; }
    mv -T "$new" "$1/gas-$key"
    [ -x "$1/gas-$key/gas" ] || { echo 'cannot be written'; exit 1; }
) 2> /dev/null

tried=
for cache in "$GAS_CACHE" "${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}/gas" /var/tmp/gas /tmp/gas; do
    safe=:
    case $cache in
        /gas) continue ;; # there is no home
        /var/tmp/gas | /tmp/gas) cache=$cache-$(id -u) safe=own ;;
        /?*) ;;
        *) continue ;;
    esac
    if [ ! -x "$cache/gas-$key/gas" ] || ! $safe "$cache"; then
        why=$(unpack "$cache") || { tried="$tried $cache $why;"; continue; }
    fi
    exec "$cache/gas-$key/gas" "$@"
done
echo "gas: cannot unpack itself:$tried set GAS_CACHE to a folder with 130 MB of space where programs may run" >&2
exit 1
