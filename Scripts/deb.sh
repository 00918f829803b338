#!/usr/bin/env bash
# Builds a Debian package of the files of `make install`: deb.sh FOLDER
#
# The command is a single file, so the package has no dependencies. The script writes it to FOLDER, and prints its path.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:?usage: deb.sh FOLDER}
# shellcheck source=Scripts/release-flags.sh
source Scripts/release-flags.sh static

name=accountkit
version=$(sed -n 's/^package let accountKitVersion = "\([^"]*\)"$/\1/p' Sources/AccountSupport/AccountKitVersion.swift)-1
architecture=$(dpkg --print-architecture)
# Use the date of the last change, so that the same sources produce the same package.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
# The same variables as for Debian's tools (debchange(1)).
maintainer="${DEBFULLNAME:-AccountKit} <${DEBEMAIL:-accountkit@example.org}>"

tree=$folder/tree
rm -rf "$folder"
mkdir -p "$tree/DEBIAN"
make --no-print-directory install STATIC=yes DESTDIR="$PWD/$tree" PREFIX=/usr
# Debian's zsh looks for completions in this folder.
mkdir -p "$tree/usr/share/zsh"
mv "$tree/usr/share/zsh/site-functions" "$tree/usr/share/zsh/vendor-completions"
# Debian policy 12.1 and 12.7: manual pages and changelogs are compressed.
gzip -9n "$tree"/usr/share/man/man1/*

documents=$tree/usr/share/doc/$name
mkdir -p "$documents" "$tree/usr/share/lintian/overrides"
gzip -9nc CHANGELOG.md >"$documents/changelog.gz"
printf '%s (%s) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' "$name" "$version" "$maintainer" \
    "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")" | gzip -9nc >"$documents/changelog.Debian.gz"
cp Scripts/debian/lintian-overrides "$tree/usr/share/lintian/overrides/$name"

# The licenses of the linked libraries: each license once, and a reference for Debian's common licenses (policy 12.5).
declare -A seen=()
swift=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")
{
    cat Scripts/debian/copyright
    for file in "$swift/share/swift/LICENSE.txt" "$scratch"/checkouts/*/{LICENSE,NOTICE}* \
        /usr/share/doc/{libsodium23,zlib1g,libc6}/copyright; do
        [[ -e $file ]] || continue
        text=$(sed -E '/^ *Apache License$/,/END OF TERMS AND CONDITIONS/c\    Apache License, Version 2.0: /usr/share/common-licenses/Apache-2.0' "$file")
        [[ -z ${seen[$text]-} ]] || continue
        seen[$text]=yes
        origin=${file#"$scratch/checkouts/"}
        origin=${origin#"$swift/share/"}
        printf '\n---- %s\n\n%s\n' "${origin#/usr/share/doc/}" "$text"
    done
} >"$documents/copyright"

size=$(du --apparent-size -sk "$tree/usr" | cut -f 1)
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" -e "s/@MAINTAINER@/$maintainer/" \
    Scripts/debian/control >"$tree/DEBIAN/control"
(cd "$tree" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$tree/DEBIAN/md5sums"
chmod -R u=rwX,go=rX "$tree"
package=$folder/${name}_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$package"
