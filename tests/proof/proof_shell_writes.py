"""Shell commands that write a file which another agent holds: a table of templates, filled for each kind of claim.

``@F`` is the held file, ``@D`` its folder, ``@N`` its name, ``@S`` and ``@E`` the name's two parts, ``@K`` the
folder's files for this table (patches, archives, scripts), ``@R`` the
root of the working tree, and ``@W`` waits until the command has ended.
"""

# ruff: noqa: E501 - one command per line

from __future__ import annotations

from typing import NamedTuple

#: What a process in the background does until its command has ended.
WAIT = "until [ -e kit/go ]; do sleep 0.05; done"


class HeldFile(NamedTuple):
    """A file, and the claim with which another agent holds it."""

    claim: str
    path: str

    def fill(self, template: str) -> str:
        """Return a command for this file."""
        folder, _, name = self.path.rpartition("/")
        stem, _, ending = name.rpartition(".")
        words = {
            "@F": self.path,
            "@D": folder,
            "@N": name,
            "@S": stem,
            "@E": ending,
            "@K": f"kit/{folder}",
        }
        for mark, word in words.items():
            template = template.replace(mark, word)
        return template.replace("@W", WAIT)


#: By name with uncommitted changes, by folder, and by glob.
HELD = (
    HeldFile("src/a.py", "src/a.py"),
    HeldFile("lib/", "lib/b.py"),
    HeldFile("conf/*.yml", "conf/c.yml"),
)

#: Plain writes by the shell and common tools.
PLAIN = r"""
echo x > @F
echo x >> @F
echo x >| @F
printf x > ./@F
echo x &> @F
echo x >& @F
: > @F
> @F
cat /dev/null > "@F"
echo x > @R/@F
echo x > '@D'/@N
echo x > @D//@N
echo x > ./@D/../@F
echo x | tee @F
echo x | tee -a @F > /dev/null
echo x | tee free.txt @F
echo x | sudo tee @F
echo x | cat > @F
{ echo x; echo y; } > @F
(echo x) > @F
(cd @D && echo x > @N)
cd @D && echo x > @N
cd @D; sed -i s/old/new/ @N
pushd @D > /dev/null && echo x > @N && popd
if true; then echo x > @F; fi
for i in 1; do echo $i > @F; done
while true; do echo x > @F; break; done
until false; do echo x > @F; break; done
case a in a) echo x > @F;; esac
f() { echo x > @F; }; f
exec 3> @F; echo x >&3
exec > @F; echo x
cp free.txt @F
cp -f free.txt @D/@N
cp -r kit/tree/@D .
cp kit/tree/@D/* @D/
cp -t @D kit/tree/@F
mv free.txt @F
mv @F gone.txt
mv @D gone
mv -t @D kit/tree/@F
ln -sf ../free.txt @F
ln -f free.txt @F
rm @F
rm -f @F
rm -rf @D
rm @D/*
rm @D/*.@E
rm -r -- @D
unlink @F
shred -u @F
truncate -s 0 @F
truncate --size=0 @F
dd if=free.txt of=@F
dd if=/dev/zero of=@F bs=1 count=4 conv=notrunc
install -m 644 free.txt @F
install -D free.txt @F
install -t @D kit/tree/@F
touch -d 2001-01-01 @F
chmod 600 @F
chmod -R 700 @D
sed -i s/old/new/ @F
sed -i.bak s/old/new/ @F
sed -i '' -e s/old/new/ @F
sed --in-place s/old/new/ @F
sed -E -i 's/(old)/new/' @F
sed -ni p @F
sed -i -e '1d' -e '$a x' @D/*.@E
sed -n 'w @F' free.txt
perl -pi -e s/old/new/ @F
perl -i -pe s/old/new/ @F
perl -pi.orig -e s/old/new/ @F
perl -e 'open(F, ">@F"); print F "x"'
perl -e 'open(my $f, ">", "@F"); print $f "x"'
perl -e 'open my $f, ">>", "@F" or die; print $f "x"'
perl -e 'unlink "@F"'
perl -e 'rename "free.txt", "@F"'
perl -MFile::Copy -e 'copy("free.txt", "@F")'
perl -MFile::Path -e 'rmtree("@D")'
awk '{print > "@F"}' free.txt
awk 'BEGIN {print "x" > "@F"}'
awk 'BEGIN {print "x" >> "@F"}'
awk '{print | "cat > @F"}' free.txt
gawk -i inplace '{print}' @F
ed -s @F <<< $'1d\nw\nq'
ex -s -c '%s/old/new/' -c 'wq' @F
vim -es -c '%s/old/new/' -c 'wq' @F
vi -e -s -c '%d' -c 'x' @F
sort -o @F free.txt
sort -r @F -o @F
uniq free.txt @F
split -l 1 free.txt @D/ && mv @D/aa @F
sponge @F < free.txt
dos2unix @F
unix2dos @F
xxd -r -p kit/hex @F
xxd free.txt @F
iconv -f utf8 -t latin1 free.txt -o @F
shuf free.txt -o @F
base64 -d kit/b64 > @F
jq . kit/x.json > @F
yq -i '.a = 1' @F
gzip -f @F
gzip @F
xz -f @F
bzip2 @F
zip -m out.zip @F
tar -cf out.tar --remove-files @F
tar xf @K.tar
tar -xf @K.tar
tar xf @K.tar @F
tar xf @K.tar -C @R
tar -C @R -xf @K.tar
tar xzf @K.tgz
tar --extract --file=@K.tar
tar xf @K-flat.tar -C @D
tar xf - < @K.tar
cat @K.tar | tar xf -
cat @K.tar | tar x
unzip -o @K.zip
unzip -oq @K.zip -d .
unzip -oq @K-flat.zip -d @D
unzip -o @K.zip '@F'
bsdtar -xf @K.tar
python3 -m zipfile -e @K.zip .
python3 -m tarfile -e @K.tar .
rsync -a kit/tree/@D/ @D/
rsync kit/tree/@F @F
rsync -a kit/tree/ .
curl -s -o @F file://@R/free.txt
curl -s --output @F file://@R/free.txt
curl -s file://@R/free.txt > @F
wget -q -O @F http://127.0.0.1:1/x
gcc -o @F kit/x.c
pandoc -o @F free.txt
csplit -s -f @D/x free.txt 1 && mv @D/x00 @F
script -c true @F
busybox cp free.txt @F
make --eval 'x: ; @echo x > @F' x
cp -rT kit/tree/@D @D
cp -b --suffix=.old free.txt @F
sed 's/x/y/' @F > @F.new && mv -f @F.new @F
sed 's/x/y/' free.txt > free.new && mv -f free.new @F
tmp=$(mktemp) && sed 's/old/new/' @F > "$tmp" && cat "$tmp" > @F
printf '%s\n' '1d' 'wq' | ed -s @F
vim -Nes '+%s/old/new/' '+wq' @F
ex -sc '%s/old/new/|x' @F
perl -0777 -i -pe 's/old/new/s' @F
for i in 1 2; do echo $i; done > @F
if true; then echo x; fi > @F
case x in x) echo y;; esac >> @F
ls nope 2> @F
cat free.txt 1<> @F
echo x | tee >(cat > @F) > /dev/null; sleep 0.3
(cd kit/tree && tar cf - @F) | tar xf -
"""
#: Programs inside the command.
CODE = r"""
python3 -c "open('@F', 'w').write('x')"
python3 -c "open('@F', mode='w').write('x')"
python3 -c "open(file='@F', mode='a').write('x')"
python3 -c "open('@D' + '/' + '@N', 'w')"
python3 -c "d = '@D'; open(f'{d}/@N', 'w')"
python3 -c "d = '@D'; open(d + '/@N', 'w')"
python3 -c "import io; io.open('@F', 'wb')"
python3 -c "from pathlib import Path; Path('@F').write_text('x')"
python3 -c "from pathlib import Path; (Path('@D') / '@N').write_text('x')"
python3 -c "from pathlib import Path; Path('@D', '@N').write_text('x')"
python3 -c "from pathlib import Path; p = Path('@D') / '@N'; p.write_text('x')"
python3 -c "from pathlib import Path; Path('@D').joinpath('@N').unlink()"
python3 -c "import pathlib; pathlib.Path('@F').unlink()"
python3 -c "import pathlib; pathlib.Path('@F').open('w').write('x')"
python3 -c "import pathlib; [p.write_text('x') for p in pathlib.Path('@D').glob('*.@E')]"
python3 -c "import os; open(os.path.join('@D', '@N'), 'w')"
python3 -c "import os; os.remove('@F')"
python3 -c "import os; os.unlink(os.path.join('@D', '@N'))"
python3 -c "import os; os.rename('free.txt', '@F')"
python3 -c "import os; os.replace('@F', 'gone.txt')"
python3 -c "import os; os.truncate('@F', 0)"
python3 -c "import os; os.chdir('@D'); open('@N', 'w')"
python3 -c "import os; os.system('echo x > @F')"
python3 -c "import os; os.close(os.open('@F', os.O_WRONLY | os.O_TRUNC))"
python3 -c "from os import remove; remove('@F')"
python3 -c "import shutil; shutil.copy('free.txt', '@F')"
python3 -c "import shutil; shutil.copyfile('free.txt', '@F')"
python3 -c "import shutil; shutil.move('free.txt', '@F')"
python3 -c "import shutil; shutil.rmtree('@D')"
python3 -c "import shutil; shutil.copytree('kit/tree/@D', '@D', dirs_exist_ok=True)"
python3 -c "from shutil import copy2; copy2('free.txt', '@F')"
python3 -c "import subprocess; subprocess.run(['cp', 'free.txt', '@F'])"
python3 -c "import subprocess; subprocess.run('echo x > @F', shell=True)"
python3 -c "import subprocess; subprocess.check_call(['sed', '-i', 's/old/new/', '@F'])"
python3 -c "import glob; [open(f, 'w') for f in glob.glob('@D/*.@E')]"
python3 -c "for f in ['free.txt', '@F']: open(f, 'a').write('x')"
python3 -c "import tarfile; tarfile.open('@K.tar').extractall()"
python3 -c "import zipfile; zipfile.ZipFile('@K.zip').extractall()"
python3 -c "import fileinput; [print(l.upper(), end='') for l in fileinput.input('@F', inplace=True)]"
python3 -c "import sys; open(sys.argv[1], 'w')" @F
python3 -c "exec(open('@K.py').read())"
python3 - <<'E'\nopen('@F', 'w').write('x')\nE
python3 <<'E'\nfrom pathlib import Path\nroot = Path('@D')\nfor name in ('@N',):\n    (root / name).write_text('x')\nE
python3 - <<'E'\nimport re\np = '@F'\ns = open(p).read()\nopen(p, 'w').write(re.sub('old', 'new', s))\nE
python3 - <<'E'\nimport os\nfor base, _, names in os.walk('@D'):\n    for name in names:\n        open(os.path.join(base, name), 'a').write('x')\nE
python3 - <<'E'\nfrom pathlib import Path\nfor p in Path('.').rglob('@N'):\n    p.write_text('x')\nE
python3 - @F <<'E'\nimport sys\nopen(sys.argv[1], 'w').write('x')\nE
python3 - <<'E'\nwith open('@F', 'r+') as f:\n    f.truncate()\nE
python3 - <<'E'\ndef fix(path):\n    s = open(path).read()\n    open(path, 'w').write(s + 'x')\nfix('@F')\nE
python3 - <<'E'\nfrom pathlib import Path\ndef fix(path, more):\n    p = Path(path)\n    p.write_text(p.read_text() + more)\ndef main():\n    for name in ['@F']:\n        fix(name, 'x')\nmain()\nE
python3 - <<'E'\nfrom pathlib import Path\nfor name, more in [('free.txt', 'a'), ('@F', 'x')]:\n    p = Path(name)\n    p.write_text(p.read_text() + more)\nE
python3 - <<'E'\nfor name, text in {'@F': 'x'}.items():\n    open(name, 'w').write(text)\nE
python3 - <<'E'\nfiles = {'@F': 'x'}\nfor name in files:\n    open(name, 'w').write(files[name])\nE
python3 -c "import fileinput; [print(l, end='x') for l in fileinput.input(['@F'], inplace=True)]"
python3 -c "import codecs; codecs.open('@F', 'w', 'utf-8').write('x')"
python3 -c "import tempfile, os; t = tempfile.mkstemp(dir='.')[1]; os.replace(t, '@F')"
python3 -c "import os; os.symlink('../free.txt', 'soft'); os.replace('soft', '@F')"
python3 -c "import sys; open(sys.argv[-1], 'w')" @F
python3 <(echo "open('@F', 'w')")
P=@F python3 -c "import os; open(os.environ['P'], 'w')"
echo "open('@F', 'w').write('x')" | python3
python3 @K.py
python3 kit/writer.py @F
python3 -m kit.writer @F
node -e "require('fs').writeFileSync('@F', 'x')"
node -e "require('fs').appendFileSync('@F', 'x')"
node -e "require('fs').rmSync('@F')"
node -e "require('fs').rmSync('@D', {recursive: true})"
node -e "require('fs').unlinkSync('@F')"
node -e "require('fs').renameSync('free.txt', '@F')"
node -e "require('fs').copyFileSync('free.txt', '@F')"
node -e "require('fs').cpSync('kit/tree/@D', '@D', {recursive: true, force: true})"
node -e "require('fs').truncateSync('@F')"
node -e "require('fs').promises.writeFile('@F', 'x')"
node -e "require('fs').promises.rm('@F')"
node -e "require('node:fs/promises').writeFile('@F', 'x')"
node -e "const fs = require('fs'); fs.writeFileSync('@F', 'x')"
node -e "const fs = require('fs'); fs.rmSync('@F', {force: true})"
node -e "const fs = require('fs'), path = require('path'); fs.writeFileSync(path.join('@D', '@N'), 'x')"
node -e "const {writeFileSync} = require('fs'); writeFileSync('@F', 'x')"
node -e "const {rmSync} = require('fs'); rmSync('@F')"
node -e "const fs = require('fs'); const d = '@D'; fs.writeFileSync(d + '/@N', 'x')"
node -e 'const fs = require("fs"); const d = "@D"; fs.writeFileSync(`${d}/@N`, "x")'
node -e "require('fs').createWriteStream('@F').end('x')"
node -e "const fs = require('fs'); fs.closeSync(fs.openSync('@F', 'w'))"
node -e "require('child_process').execSync('echo x > @F')"
node -e "require('child_process').execFileSync('cp', ['free.txt', '@F'])"
node -e "for (const f of ['@F']) require('fs').writeFileSync(f, 'x')"
node --input-type=module -e "import fs from 'fs'; fs.writeFileSync('@F', 'x')"
node -p "require('fs').writeFileSync('@F', 'x')"
node <<'E'\nrequire('fs').writeFileSync('@F', 'x')\nE
node @K.js
node -e "const fs = require('fs'), path = require('path'); fs.writeFileSync(path.join(process.cwd(), '@D', '@N'), 'x')"
node -e "['@F'].forEach(f => require('fs').writeFileSync(f, 'x'))"
node --input-type=module -e "import {writeFile} from 'node:fs/promises'; await writeFile('@F', 'x')"
node <<'E'\nimport('fs').then(fs => fs.writeFileSync('@F', 'x'))\nE
perl -e 'open(F, "+<", "@F"); print F "x"'
perl <<'E'\nopen(my $f, '>', '@F'); print $f "x";\nE
ruby -e 'File.write("@F", "x")'
ruby -e 'File.open("@F", "w") { |f| f.puts 1 }'
ruby -e 'File.delete("@F")'
ruby -i -pe '$_.upcase!' @F
ruby -rfileutils -e 'FileUtils.rm_rf("@D")'
php -r 'file_put_contents("@F", "x");'
php -r 'unlink("@F");'
deno eval "Deno.writeTextFileSync('@F', 'x')"
bun -e "require('fs').writeFileSync('@F', 'x')"
bun -e "await Bun.write('@F', 'x')"
pwsh -c "Set-Content @F x"
"""
#: Shells in shells, substitutions, and lists of files.
SHELLS = r"""
bash -c 'echo x > @F'
bash -c "echo x > @F"
bash -lc 'echo x > @F'
bash -ec 'echo x > @F'
bash -euo pipefail -c 'echo x > @F'
bash -o errexit -o pipefail -c 'echo x > @F'
bash -eu -o pipefail -c 'rm @F'
bash +x -c 'echo x > @F'
bash --norc -c 'echo x > @F'
bash --norc --noprofile -euc 'echo x > @F'
sh -ec 'echo x > @F'
sh -c 'cd @D && rm @N'
sh -c 'echo x > "$1"' sh @F
sh -c 'echo x > "$0"' @F
bash -c 'sed -i s/old/new/ "$@"' - @F
zsh -c 'echo x > @F'
dash -c 'echo x > @F'
env bash -c 'echo x > @F'
env A=1 sh -c 'echo x > @F'
sudo bash -c 'echo x > @F'
nohup sh -c 'echo x > @F'
timeout 5 sh -c 'echo x > @F'
eval 'echo x > @F'
eval "rm @F"
bash <<< 'echo x > @F'
bash <<'E'\necho x > @F\nE
echo 'echo x > @F' | bash
echo 'echo x > @F' | sh -s
cat @K.sh | bash
bash @K.sh
bash < @K.sh
sh ./@K.sh
./@K.sh
. ./@K.sh
source @K.sh
bash -c '. ./@K.sh'
bash -c "$(cat @K.sh)"
make -f @K.mk
xargs rm < @K.txt
cat @K.txt | xargs rm
cat @K.txt | xargs -I{} sh -c 'echo x > {}'
xargs -a @K.txt rm
while read f; do echo x > "$f"; done < @K.txt
cat @K.txt | while read -r f; do sed -i s/old/new/ "$f"; done
for f in $(cat @K.txt); do rm $f; done
rm $(cat @K.txt)
rm $(< @K.txt)
while read -r f; do sed -i s/old/new/ "$f"; done <<< "@F"
while read f; do echo x > $f; done < <(git ls-files @D)
while IFS= read -r -d '' f; do echo x > "$f"; done < <(find @D -type f -print0)
readarray -t a < <(ls @D/*); sed -i s/old/new/ "${a[@]}"
xargs rm < <(cat @K.txt)
echo x > $(realpath @F)
echo x > "$(readlink -f @F)"
rg --files @D | xargs sed -i s/old/new/
parallel -j2 'echo x > {}' ::: @F
bash -s -- @F <<'E'\necho x > "$1"\nE
time -p cp free.txt @F
flock kit/lock -c 'echo x > @F'
script -qc 'cp free.txt @F' /dev/null
mapfile -t a < @K.txt; rm "${a[@]}"
F=@F; echo x > $F
F=@F; echo x > "$F"
F="@F"; rm -f "${F}"
D=@D; echo x > $D/@N
D=@D N=@N; echo x > "$D/$N"
export D=@D; rm "$D"/@N
F=$(echo @F); echo x > $F
F=`echo @F`; echo x > $F
echo x > $(echo @F)
echo x > `echo @F`
echo x > "$(printf %s @F)"
echo x > $(ls @F)
echo x > $(find @D -name @N)
echo x > ${F:-@F}
echo x > $PWD/@F
echo x > "$(pwd)/@F"
echo x > "$(git rev-parse --show-toplevel)/@F"
echo x > $(dirname @F)/@N
echo x > @D/$(basename @F)
set -- @F; echo x > "$1"
a=(@F); echo x > "${a[0]}"
read f <<< @F; echo x > $f
printf -v f %s @F; echo x > $f
for f in @F; do echo x > $f; done
for f in @D/*.@E; do sed -i s/old/new/ "$f"; done
for f in @D/*; do echo x > "$f"; done
for f in $(ls @D/*.@E); do sed -i s/old/new/ $f; done
for f in $(ls @D); do echo x > @D/$f; done
for f in `ls @D/*.@E`; do echo x > $f; done
for f in $(find @D -name '*.@E'); do sed -i s/old/new/ $f; done
for f in $(find . -name '@N' -type f); do echo x > $f; done
for f in $(grep -l old @D/*.@E); do sed -i s/old/new/ $f; done
for f in $(grep -rl old @D); do sed -i s/old/new/ $f; done
for f in $(git ls-files @D); do sed -i s/old/new/ $f; done
for f in $(git ls-files '*.@E'); do sed -i s/old/new/ $f; done
for f in $(git grep -l old); do sed -i s/old/new/ $f; done
for f in $(echo @D/*.@E); do rm $f; done
for d in @D; do for f in $d/*; do echo x > $f; done; done
for n in @S; do echo x > @D/$n.@E; done
sed -i s/old/new/ $(grep -rl old @D)
sed -i s/old/new/ $(grep -l old @D/*)
sed -i s/old/new/ $(git ls-files @D)
sed -i s/old/new/ `grep -rl old .`
sed -i s/old/new/ $(find @D -type f)
rm -f $(find @D -name '*.@E')
grep -l old @D/* | xargs sed -i s/old/new/
grep -rl old @D | xargs sed -i 's/old/new/g'
grep -rl old . | xargs sed -i s/old/new/
grep -rlZ old @D | xargs -0 sed -i s/old/new/
grep -rl --include='*.@E' old . | xargs sed -i s/old/new/
grep -rlE 'old|none' @D | xargs perl -pi -e s/old/new/
grep -ril OLD @D | xargs -r sed -i s/old/new/
grep -lr old @D | xargs -n1 sed -i s/old/new/
grep -rl old @D | xargs -I{} sed -i s/old/new/ {}
grep -rl old @D | xargs -I % sh -c 'echo x > %'
grep -rl old @D | sort -u | xargs sed -i s/old/new/
grep -rl old @D | grep @N | xargs sed -i s/old/new/
grep -rl old @D | head -5 | xargs rm
grep -rl old @D | while read f; do sed -i s/old/new/ "$f"; done
grep -rl old @D | while IFS= read -r f; do echo x > "$f"; done
rg -l old @D | xargs sed -i s/old/new/
git grep -l old | xargs sed -i s/old/new/
git grep -l old -- @D | xargs sed -i s/old/new/
git grep -lz old | xargs -0 perl -pi -e s/old/new/
git ls-files @D | xargs rm
git ls-files | xargs sed -i s/old/new/
git ls-files -z '*.@E' | xargs -0 sed -i s/old/new/
git ls-files @D | while read f; do echo x > $f; done
find @D -name '*.@E' | xargs sed -i s/old/new/
find @D -type f | xargs rm
find . -name @N -print0 | xargs -0 rm
find . -path './@D/*' | xargs sed -i s/old/new/
find @D -type f | while read f; do echo x > "$f"; done
find @D -name '*.@E' -exec sed -i s/old/new/ {} +
find @D -type f -exec sed -i s/old/new/ {} \;
find . -name @N -exec sh -c 'echo x > "$1"' _ {} \;
find . -name @N -exec sh -c 'echo x > {}' \;
find @D -name @N -delete
find @D -type f -delete
find @D -name @N -fprint @F
ls @D/* | xargs rm
ls @D | xargs -I{} rm @D/{}
ls @D/*.@E | while read f; do sed -i s/old/new/ $f; done
cd @D && ls | xargs rm
cd @D && for f in *; do echo x > $f; done
cd @D && find . -type f | xargs rm
cd @D && grep -l old * | xargs sed -i s/old/new/
echo @F | xargs rm
echo @F | xargs -I{} cp free.txt {}
printf '%s\n' @F | xargs rm
parallel sed -i s/old/new/ ::: @F
echo $'x' > $'@F'
echo x > @D/{@N,other.txt}
rm @D/{@S,zz}.@E
rm @D/[a-z]*.@E
rm @D/?.@E
rm */@N
shopt -s globstar; rm **/@N
cat > @F <<'E'\nx\nE
cat <<'E' > @F\nx\nE
tee @F <<< x
cat <<E | tee @F\nx\nE
cat free.txt | dd of=@F
env -C @D cp ../free.txt @N
env --chdir=@D sh -c 'echo x > @N'
command cp free.txt @F
\cp free.txt @F
/bin/cp free.txt @F
/usr/bin/env cp free.txt @F
exec cp free.txt @F
builtin printf x > @F
nice cp free.txt @F
stdbuf -o0 cp free.txt @F
xargs -I{} cp free.txt {} <<< @F
coproc { echo x > @F; }; wait
trap 'echo x > @F' EXIT
time cp free.txt @F
! cp free.txt @F
A=1 cp free.txt @F
$(echo cp) free.txt @F
c=cp; $c free.txt @F
alias zz='cp free.txt'; shopt -s expand_aliases; eval 'zz @F'
edit() { sed -i "s/$1/$2/" "$3"; }; edit old new @F
put() { local to="$1"; cat > "$to"; }; echo x | put @F
function each { for f in "$@"; do echo x > "$f"; done; }; each free.txt @F
run() { "$@"; }; run sed -i s/old/new/ @F
for f in @F; do hit() { echo x > "$1"; }; hit "$f"; done
bash -c 'w() { echo x > "$1"; }; w "$0"' @F
find @D -type f -exec bash -c 'for f; do echo x > "$f"; done' _ {} +
ls @D/*.@E | xargs sh -c 'for f; do echo x > "$f"; done' _
F=(@F free.txt); for f in "${F[@]}"; do echo x >> "$f"; done
exec {fd}>@F; echo x >&$fd
TO=@F bash -c 'echo x > $TO'
"""
#: Git.
GIT = r"""
git checkout -- @F
git checkout older -- @F
git checkout older @F
git checkout side -- @D
git checkout older -- .
git checkout -f older
git checkout -f side
git checkout --force older
git checkout -qf older
git checkout -f -B topic older
git checkout older
git checkout -b topic older
git checkout --detach older
git checkout --merge older
git checkout -p older -- @F < kit/yes
git switch older
git switch -f older
git switch --discard-changes older
git switch --force older
git switch -qf side
git switch -C topic older
git switch --detach older
git switch -m older
git restore --source older @F
git restore -s older -- @F
git restore --source=older --staged --worktree @D
git restore -s older .
git restore --source older :/
git restore -SW -s older @F
git reset --hard older
git reset --hard side
git reset -q --hard HEAD~1
git reset --keep older
git reset --merge older
git merge side
git merge --ff-only side
git merge --no-commit side
git merge --squash side
git merge -X theirs side
git cherry-pick side
git cherry-pick -n side
git cherry-pick main..side
git revert --no-edit HEAD
git revert -n HEAD
git rebase older
git rebase side
git pull . side
git pull -q ./ side
git stash pop
git stash apply
git stash apply stash@{0}
git checkout stash@{0} -- @F
git apply @K.patch
git apply < @K.patch
git apply -p1 @K.patch
git apply --index @K.patch
git apply --3way @K.patch
git apply -3 @K.patch
git apply --reject @K.patch
git apply -R @K-back.patch
git apply --directory=@D @K-flat.patch
git -C . apply @K.patch
cat @K.patch | git apply
cat @K.patch | git apply -
git apply - < @K.patch
git diff HEAD side | git apply
git diff main side -- @D | git apply
git show side | git apply
git show side -- @F | patch -p1
git diff HEAD..side -- @F | patch -p1
git format-patch -1 side --stdout | git am
git am @K.mbox
git am < @K.mbox
git am -3 @K.mbox
cat @K.mbox | git am
patch -p1 < @K.patch
patch -p1 -i @K.patch
patch -p1 --input=@K.patch
patch -Np1 -i @K.patch
patch -s -p1 < @K.patch
patch -d @D -p2 < @K.patch
patch -d @D -p2 -i ../@K.patch
cat @K.patch | patch -p1
patch @F @K.patch
patch @F < @K.patch
patch -R -p1 < @K-back.patch
patch -p0 < @K-p0.patch
cd @D && patch -p2 < ../@K.patch
patch -p1 <<'E'\n--- a/@F\n+++ b/@F\n@@ -1 +1 @@\n-old\n+new\nE
git apply <<'E'\n--- a/@F\n+++ b/@F\n@@ -1 +1 @@\n-old\n+new\nE
apply_patch <<'E'\n*** Begin Patch\n*** Update File: @F\n@@\n-old\n+new\n*** End Patch\nE
apply_patch '*** Begin Patch\n*** Delete File: @F\n*** End Patch'
git rm -f @F
git rm -rf @D
git mv -f @F gone.txt
git mv @D gone
git read-tree -u --reset older
git read-tree -um HEAD older
git read-tree --reset -u side
git checkout-index -f --prefix=@R/ @F
git show older:@F > @F
git cat-file -p older:@F > @F
git archive older | tar x
git archive older @F | tar -x
git archive side | tar -xf - -C .
git -C @D checkout older -- @N
git -C @D restore -s older .
git --git-dir=.git --work-tree=. checkout older -- @F
cd @D && git checkout older -- @N
cd @D && git restore -s older @N
git bisect start HEAD older
git worktree remove -f . ; echo x > @F
git stash branch topic
git -c alias.zz='checkout older --' zz @F
git update-index --skip-worktree @F && echo x > @F
git mergetool --tool=meld @F; echo x > @F
git diff > @F
git log -1 --output=@F
git diff HEAD~1 --output @F
git show HEAD --output=@F
git reflog --output=@F
git shortlog -sn HEAD --output=@F
git update-index --assume-unchanged @F; kit/ls @F
git config -f @F a.b c
git archive -o @F HEAD
git bundle create @F HEAD
git format-patch -1 -o @D; echo x > @F
git hash-object -w free.txt > @F
git checkout none -- @F 2> /dev/null || git checkout older -- @F
git checkout "$(git rev-list -n1 older)" -- @F
git restore -s older ':(glob)@D/*'
git diff stash@{0}^ stash@{0} -- @F | git apply
git diff side main -- @F | git apply -R
git diff --name-only older main -- @D | xargs rm
git show older:./@F | tee @F > /dev/null
GIT_DIR=.git GIT_WORK_TREE=. git checkout older -- @F
git -c user.name=x commit -q --allow-empty -m x && git checkout older -- @F
"""
#: Tools that rewrite source files; most are not installed on the machine that runs this table.
TOOLS = r"""
black @F
npx prettier --write '@D/*.{@E,zz}'
npx -y prettier@3 --write @F
npx @biomejs/biome@2.1.0 check --write @D
uvx ruff@latest format @F
black @D
ruff format @F
ruff format @D
ruff check --fix @F
ruff check --fix .
isort @F
isort @D
autopep8 -i @F
yapf -i @F
prettier --write @F
prettier -w @D
npx prettier --write @F
npx -y prettier -w .
npx prettier --write '@D/**/*.@E'
yarn run prettier --write @D
pipx run black @F
oxlint --fix @D
mdformat @F
uv export -o @F
pnpm exec prettier --write @F
yarn prettier --write @F
bunx prettier --write @F
npx eslint --fix @F
eslint --fix @D
npx biome check --write @D
biome format --write @F
stylelint --fix @F
gofmt -w @F
gofmt -s -w @D
goimports -w @F
rustfmt @F
clang-format -i @F
shfmt -w @F
terraform fmt @D
deno fmt @F
python3 -m black @F
python -m isort @D
uv run ruff format @F
uvx black @F
poetry run black @D
pyupgrade --py311-plus @F
autoflake --in-place @F
docformatter -i @F
rubocop -A @F
php-cs-fixer fix @F
phpcbf @F
swiftformat @F
ktlint -F @F
dart format @F
mix format @F
nixfmt @F
taplo fmt @F
sqlfluff fix @F
markdownlint --fix @F
codespell -w @F
sd old new @F
fastmod --accept-all old new @F
comby old new @F -i
ast-grep run -p old -r new -U @F
jscodeshift -t kit/x.js @F
2to3 -w @F
unifdef -m -DX @F
rename 's/x/y/' @F
openssl rand -out @F 8
ffmpeg -y -i free.txt @F
convert free.txt @F
protoc --python_out=@D x.proto; echo x > @F
tsc --outFile @F
esbuild free.txt --outfile=@F
aws s3 cp s3://b/x @F
scp host:x @F
kubectl get pods -o yaml > @F
docker compose config > @F
pip freeze > @F
npm pack > @F
"""
#: Writes that a command line does not show.
HIDDEN = r"""
./kit/test @F
kit/date @F
kit/ls @F
@R/kit/date @F
PATH=kit:$PATH ls @F
PATH="$PWD/kit:$PATH"; date @F
export PATH=$PWD/kit:$PATH; ls @F
env PATH=$PWD/kit:$PATH ls @F
hash -p ./kit/ls ls; ls @F
ls() { kit/ls "$@"; }; ls @F
function cat { kit/ls @F; }; cat free.txt
alias ls=kit/ls; shopt -s expand_aliases; eval 'ls @F'
[ $(kit/ls @F) ]
[[ $(kit/ls @F) ]]
test -n "$(kit/ls @F)"
echo $(kit/ls @F)
cat <(kit/ls @F) > /dev/null; sleep 0.3
echo old | grep -q old && kit/ls @F
enable -f /dev/null x 2> /dev/null; kit/ls @F
command -p echo; kit/ls @F
ls | xargs -I{} kit/ls @F
echo @F | xargs kit/ls
find free.txt -exec kit/ls @F \;
find free.txt -ok kit/ls @F \; < kit/yes
timeout 9 kit/ls @F
nice kit/ls @F
builtin command kit/ls @F
time kit/ls @F
. kit/ls @F
BASH_ENV=kit/env-@D bash -c :
LESSOPEN='|kit/ls @F' cat free.txt; kit/ls @F
git -c core.fsmonitor="kit/ls @F;:" status
git -c diff.external="kit/ls @F;:" diff HEAD~1
git -c alias.zz='!kit/ls @F' zz
GIT_EXTERNAL_DIFF="kit/ls @F;:" git diff HEAD~1
GIT_EDITOR="kit/ls @F;:" git commit --amend
git config alias.zz '!kit/ls @F' && git zz
git config core.fsmonitor "kit/ls @F;:" && git status
git log -1 --ext-diff -p; kit/ls @F
git grep -O'kit/ls @F;:' free -- free.txt
git fetch --upload-pack='kit/ls @F; git-upload-pack' . side
git difftool -y -x 'kit/ls @F;:' HEAD~1
git rebase -x 'echo x > @F' HEAD~1
git bisect run sh -c 'echo x > @F'; kit/ls @F
sort --compress-program=kit/ls -S 1k free.txt; kit/ls @F
printf '\105x' > $(printf '@D/\141')x; kit/ls @F
python3 -c "open(chr(64)[:0] + '@'[:0] + ''.join(['@D', '/', '@N']), 'w')"
python3 -c "import base64; exec(base64.b64decode('$(printf "open('@F','w')" | base64)'))"
node -e "require('fs').writeFileSync(['@D', '@N'].join('/'), 'x')"
perl -e '$f = join("/", "@D", "@N"); open(F, ">$f"); print F 1'
echo x > "$(printf '@D/%s' @N | tr A-Z a-z)"
echo x > $(echo @F | rev | rev)
F=$(echo @F | rev | rev); rm $F
cd $(echo @D | rev | rev) && rm @N
sh -c "$(echo 'rm @F' | rev | rev)"
eval "$(echo 'rm @F' | rev | rev)"
$(echo rm | rev | rev) @F
printf 'rm @F' > kit/run.sh; sh kit/run.sh
printf 'x' | kit/ls @F
awk 'BEGIN { system("echo x > @F") }'
awk -v f=@F 'BEGIN { print "x" > f }'
sed '1e echo x > @F' free.txt
sed 's/.*/echo x > \@F/e' kit/one | sh; kit/ls @F
perl -e 'system("echo x > @F")'
perl -e '`echo x > @F`'
vim -es -c '!echo x > @F' -c q free.txt
sqlite3 :memory: '.output @F' 'select 1'
sqlite3 :memory: ".shell echo x > @F"
make -f kit/Makefile F=@F
python3 kit/writer.py < @K.txt @F
mkfifo kit/run.fifo; (cat kit/run.fifo > @F &) ; echo x > kit/run.fifo; sleep 0.2; rm kit/run.fifo
ln free.txt hard.txt; ln -f @F hard2.txt; echo x >> hard2.txt
ln -s @F soft.txt; echo x >> soft.txt
cp -al @D copy; echo x >> copy/@N
mkdir -p t && cd t && rm ../@F
echo x > @F; git commit -qam x
kit/ls @F; git add -A; git commit -qm x
sh -c 'kit/ls @F; git commit -qam x'
printf 'git update-index --skip-worktree @F; echo x > @F' > kit/run.sh; sh kit/run.sh
cat <<E\n$(kit/ls @F)\nE
for x in $(kit/ls @F); do :; done
trap 'kit/ls @F' DEBUG; ls
PS4='$(kit/ls @F)'; set -x; ls
GIT_TRACE=@R/@F git status
python3 -m json.tool kit/x.json @F
f() { sed -i s/old/new/ "$1"; }; f @F
git diff --name-only HEAD~1 -- @D | xargs sed -i s/old/new/
grep -rn old @D | cut -d: -f1 | sort -u | xargs sed -i s/old/new/
diff -u @F kit/tree/@F > kit/d.patch; patch @F kit/d.patch
ln -s ../@D kit/folder; echo x > kit/folder/@N
echo x > /proc/self/cwd/@F
"""
#: The writes that no check notices, because they happen after the command has ended.
UNNOTICED = r"""
(@W; kit/ls @F) > /dev/null 2>&1 &
setsid -f sh -c '@W; kit/ls @F' > /dev/null 2>&1
"""


def commands(*, every: bool = False) -> list[tuple[str, HeldFile]]:
    """Return the commands of the table, each with the file that it writes.

    Hidden writes are tried with each kind of claim, the others with one; with ``every``, all with each.
    """
    found: dict[str, HeldFile] = {}
    for table in (PLAIN, CODE, SHELLS, GIT, TOOLS, HIDDEN, UNNOTICED):
        for number, line in enumerate(table.strip().splitlines()):
            here = "<<'E'" in line or "<<E" in line or line.startswith("apply_patch")
            text = line.replace("\\n", "\n") if here else line
            for held in (
                HELD if every or table in (HIDDEN, UNNOTICED) else (HELD[number % len(HELD)],)
            ):
                found.setdefault(held.fill(text), held)
    return list(found.items())
