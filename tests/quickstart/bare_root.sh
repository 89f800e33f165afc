#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs scripts/quickstart.sh --check of the committed tree in a bare Debian 12 root. The root gets this
# host's resolver, CA certificates, apt and pip settings from here; the scripts know nothing of them.
# Needs root and debootstrap. Not part of CI: it downloads a distribution.
#   tests/quickstart/bare_root.sh ROOT_DIRECTORY   (made when missing; reused when there)
set -euo pipefail
[ "$(id -u)" = 0 ] || { echo "bare_root: needs root (debootstrap, chroot)" >&2; exit 1; }
root=$(realpath -m "${1:?a directory for the Debian root}")
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
limit_seconds=900

if [ ! -x "$root/usr/bin/apt-get" ]; then
  debootstrap --variant=minbase bookworm "$root" http://deb.debian.org/debian >/dev/null
fi

# The host's settings.
cp /etc/resolv.conf "$root/etc/resolv.conf"
cp /etc/hosts "$root/etc/hosts"
mkdir -p "$root/etc/ssl/certs" "$root/etc/apt/apt.conf.d"
cp -L /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
# Installing the package ca-certificates rewrites that file; this copy stays.
host_ca=/etc/host-ca.crt
cp -L /etc/ssl/certs/ca-certificates.crt "$root$host_ca"
for file in /etc/apt/apt.conf.d/*; do
  case "$file" in *docker* | *autoremove* | *packagekit* | *appstream* | *debconf*) continue ;; esac
  [ -f "$file" ] && cp -L "$file" "$root/etc/apt/apt.conf.d/"
done
[ ! -f /etc/pip.conf ] || cp /etc/pip.conf "$root/etc/pip.conf"
if [ -f "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf" ]; then
  cp "${XDG_CONFIG_HOME:-$HOME/.config}/pip/pip.conf" "$root/etc/pip.conf"
fi
[ ! -f "$root/etc/pip.conf" ] || sed -i "s|^cert *=.*|cert = $host_ca|" "$root/etc/pip.conf"
environment=(HOME=/root "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" LC_ALL=C.UTF-8)
while IFS='=' read -r name value; do
  case "$name" in
    PIP_FIND_LINKS) ;;
    SSL_CERT_DIR) ;;
    PIP_CERT | SSL_CERT_FILE | CURL_CA_BUNDLE | REQUESTS_CA_BUNDLE) environment+=("$name=$host_ca") ;;
    PIP_* | *_proxy | *_PROXY) environment+=("$name=$value") ;;
  esac
done < <(env)

# A clean clone of what is committed.
rm -rf "$root/root/shoal"
mkdir -p "$root/root/shoal"
git archive HEAD | tar -x -C "$root/root/shoal"

mounted=()
cleanup() {
  for ((i = ${#mounted[@]} - 1; i >= 0; i--)); do umount -l "${mounted[$i]}" || true; done
}
trap cleanup EXIT
for point in proc sys dev; do
  mount --rbind "/$point" "$root/$point"
  mount --make-rslave "$root/$point"
  mounted+=("$root/$point")
done

start=$SECONDS
env -i "${environment[@]}" chroot "$root" /bin/bash -c 'cd /root/shoal && scripts/quickstart.sh --check'
took=$((SECONDS - start))
echo "bare_root: quickstart --check took $took s (limit $limit_seconds)"
[ "$took" -le "$limit_seconds" ]
