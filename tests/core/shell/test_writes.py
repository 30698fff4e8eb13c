"""Files that a shell command would write, for every kind of write in the table."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dibs.core.shell.effects import FileSource
from dibs.core.shell.writes import TreeCommand, writes
from dibs.core.toolcalls.values import How

HOME = "/home/u"


def seen(command, **options):
    """Return targets as words: ``-`` marks a deletion, ``~`` git's, ``?`` a glob, and ``/`` a deep target."""
    found = writes(command, "/r", HOME, **options)
    signs = {How.WRITE: "", How.DELETE: "-", How.CLEAN: "~", How.READ: "<"}
    return [
        f"{signs[t.how]}{'?' if t.glob else ''}{t.path}{'/' if t.deep else ''}"
        + (f">{t.into}" if t.into else "")
        for t in found.targets
    ]


PLAIN = """
echo $(( $(rm a) + 1 )); (( $(rm b) ))          | -a -b
echo ${x:-$(rm a)} "${x:=`rm b`}"               | -a -b
[[ -n $(rm a) && -f `rm b` ]] && ls             | -a -b
echo x > /dev/null 2>/dev/stderr >/dev/fd/3     |
echo x > /dev/shm/a; echo x > /proc/self/cwd/b  | /dev/shm/a /proc/self/cwd/b
uniq -c a b; uniq c; tree -L 2 -o d             | b d
git diff --output=a; git log --output b; git show | a b
git reflog --output=a; git shortlog -s --output=b | a b
git mv -n a b; wget --spider http://x/a         |
npm pkg get a; uv lock --check; sqlite3 :memory: 'create table t(a)' |
npm pkg set a=b                                 | package.json
patch -o a b x; patch --dry-run b x             | a
xxd a; xxd a b; iconv -o c d; shuf -o e f       | b c e
time -p rm a; flock l -c 'rm b'; script -qc 'rm c' d | -a -b -c d
awk '{print | "cat > a"}' b                     | a
cargo fmt --check; cargo fmt --all -- --check   |
cargo fmt                                       | ?**/*.rs
yarn run prettier -w 'a/**/*.ts'                | ?a/**/*.ts/
prettier --write 'a/*.{js,ts}' "b/{c,d}.js"     | ?a/*.js/ ?a/*.ts/ b/c.js/ b/d.js/
npx -y prettier@3 -w a; npx @biomejs/biome@2.1.0 format --write b | a/ b/
oxlint a; oxlint --fix a; mdformat b            | a/ b/
git config -f a x.y z; git config x.y           | a
git archive -o a HEAD                           | a
/usr/bin/time -f e -o a rm b                    | a -b
echo x > a                                      | a
echo x >> a                                     | a
echo x >| a                                     | a
echo x &> a                                     | a
echo x &>> a                                    | a
echo x 1> a 2>b                                 | a b
echo x >& a                                     | a
cat <> a                                        | a
echo x 2>&1 >&2 2>/dev/null                     |
: > "my file"                                   | my file
> a                                             | a
cat a | tee b c | tee -a d                      | b c d
echo a\\>b                                      |
echo 'x > y' "> z"                              |
# echo x > a                                    |
echo x # > a                                    |
echo a#b > c                                    | c
sed -i 's/a/b/' x y                             | x y
sed -i.bak -e s/a/b/ x                          | x
sed -i '' 's/a/b/' x                            | x
sed --in-place=.b s/a/b/ x                      | x
sed -n -i -E -e p x                             | x
sed s/a/b/ x                                    |
perl -pi -e 's/a/b/' x                          | x
perl -i.bak -pe 's/a/b/' x                      | x
ruby -i -pe 'x' a                               | a
gawk -i inplace '{print}' x                     | x
awk '{print > "out"}' x                         | out
cp a b                                          | b>a
cp a b c/                                       | c/a c/b
cp -r a b                                       | b/>a
cp -t d a b                                     | d/a d/b
cp -rT a b                                      | b/
mv a b                                          | -a/ b/>a
mv a b d                                        | -a/ -b/ d/a/ d/b/
rm a b                                          | -a -b
rm -rf d                                        | -d/
rm -- -f                                        | --f
rmdir d; unlink x                               | -d -x
install -m 755 a bin/a                          | bin/a>a
ln -sf a b                                      | b>a
dd if=a of=b bs=1                               | b
truncate -s 0 a                                 | a
touch -r ref a                                  | a
sort -o out in                                  | out
sort --output=out in                            | out
chmod +x a                                      | a
rsync -a src/ dst/                              | dst//
rsync a host:b                                  |
sqlite3 a.db 'delete from x'; sqlite3 b.db '.schema' | a.db
sqlite3 -readonly a 'drop table x'; sqlite3 b 'select replace(a, b, c) from x where y = "delete"' |
echo 'select 1; drop table x' | sqlite3 a; sqlite3 b <<< 'update x set y = 1' | a b
rsync -a --delete src/ dst                      | -dst/
rsync -a --delete-after src/ dst                | -dst/
vim -c wq a; vim -R b; nvim -R c                | a
tar xzf a.tgz -C vendor                         | vendor/
tar -xf a.tar one two                           | one/ two/
tar czf out.tgz src                             | out.tgz
unzip -d v a.zip                                | v/
gzip a                                          | -a a.gz
gzip -k a                                       | a.gz
zip -q - a.py; zip -sf a.zip; zip -h            |
zip -q /t/o.zip a.py; zip -r o.zip . -x '*.git*' 'b/*' | /t/o.zip o.zip
zip -j o a.py; zip -9 -P pw o.jar a.py; zip a.zip -d b; zip x.zip b -O c.zip | o.zip o.jar a.zip c.zip
zip -m o.zip a.py; zip -qm o.zip b              | o.zip -a.py/ -b/
zstd -q a.py -o /t/o.zst; zstd b; zstd -d c.zst; zstd -T0 -19 e | /t/o.zst b.zst c e.zst
zstd --rm a; zstd -c b                          | -a a.zst
dos2unix -n a /t/b c d; unix2dos -q e; dos2unix -i f | /t/b d e
curl -sSLo f http://h/x                         | f
curl -O http://h/x.tgz                          | x.tgz
wget -qO f http://h/x                           | f
wget http://h/d/x.tgz?q=1                       | x.tgz
npm install left-pad                            | package.json package-lock.json
npm install                                     | package-lock.json
pnpm add x                                      | package.json pnpm-lock.yaml
yarn                                            |
cargo add x                                     | Cargo.toml Cargo.lock
cargo build                                     |
uv lock                                         | uv.lock
go mod tidy                                     | go.mod go.sum
black src                                       | src/
black --check src                               |
ruff format a.py                                | a.py/
ruff check --fix .                              | ./
ruff check .                                    |
prettier --write a.ts                           | a.ts/
gofmt -w a.go                                   | a.go/
gofmt -l a.go                                   |
npx prettier -w a.ts                            | a.ts/
uv run black x                                  | x/
python -m black x                               | x/
yq -i '.a=1' f.yml                              | f.yml
gcc -o out a.c                                  | out
ls -la; cat x; grep a b; pytest -q              |
"""
SYNTAX = """
cd src && rm a                                  | -src/a
cd src; cd ..; rm a                             | -src/../a
cd /abs && rm a                                 | -/abs/a
(cd src && rm a); rm b                          | -src/a -b
D=lib; rm $D/a "$D/b" ${D}/c                    | -lib/a -lib/b -lib/c
F="a b"; rm $F                                  | -a -b
F="a b"; rm "$F"                                | -a b
f=a.py; rm "${f%.py}.js"                        | -a.js
rm ${X:-y}                                      | -y
A=1 B=2 rm x                                    | -x
export D=lib; rm $D/a                           | -lib/a
for f in a b; do rm $f.x; done                  | -a.x -b.x
for f in *.py; do sed -i s/a/b/ "$f"; done      | ?*.py
if true; then rm a; else rm b; fi               | -a -b
if [[ a > b ]]; then rm c; fi                   | -c
if [ 1 -gt 2 ]; then rm c; fi                   | -c
while read x; do rm a; done < list              | -a
{ rm a; rm b; } > log                           | -a -b log
f() { rm a; }; f                                | -a
function g { rm a; }                            | -a
f() { sed -i s/a/b/ "$1"; }; f a; f b           | a b
f() { local p="$2"; tee "$p"; }; f a b; f c "d e" | b d e
function g { rm "$@"; }; g a b; rm $1           | -a -b
function h() { rm "$1"; }; for x in a b; do h $x; done | -a -b
f() { g "$1"; }; g() { rm d/$1; }; f a          | -d/a
f() { { rm "$1"; }; }; xargs -n1 bash -c 'f "$0"' <<< a | -a
:(){ :|:& };:; rm a                             | -a
case $x in a) rm a;; b|c) rm b;; esac           | -a -b
a=(x y); rm "${a[@]}"                           | -x -y
((i > 3)); echo $((1 > 2)) > x                  | x
rm {a,b}.py                                     | -a.py -b.py
rm {a,{b,c}}                                    | -a -b -c
rm '{a,b}'                                      | -{a,b}
rm *.py "*.py"                                  | -?*.py -*.py
rm ~/a $HOME/b '~/c'                            | -/home/u/a -/home/u/b -~/c
rm a\\ b                                        | -a b
rm $'a'                                         | -a
echo $(rm a) `rm b` "$(rm c)"                   | -a -b -c
echo '$(rm a)'                                  |
diff <(rm a) >(tee b)                           | -a b
rm a || rm b && rm c & rm d                     | -a -b -c -d
! rm a; time rm b                               | -a -b
rm $(pwd)/a                                     | -/r/a
rm $(git rev-parse --show-toplevel)/a           | -:/a
T=$(mktemp); echo > $T                          | /tmp/mktemp
sudo -u x rm a                                  | -a
env -i A=b rm a                                 | -a
nice -n 5 timeout -k 1 5 nohup rm a             | -a
/bin/rm a; command rm b; \\rm c                 | -a -b -c
bash -c 'rm a'; sh -ec "rm b"                   | -a -b
bash -euo pipefail -c 'rm a'; su bob -c 'rm b'  | -a -b
sudo -Hu x rm a; sudo A=b rm b                  | -a -b
env -C d rm a; rm b                             | -d/a -b
echo 'rm a' | sh -                              | -a
watch -n 1 rm -rf d                             | -d/
eval "rm a"                                     | -a
bash -c "bash -c 'rm a'"                        | -a
find . -name '*.pyc' -delete                    | -?**/*.pyc
find src -delete                                | -src/
find src -name a.py -exec rm {} \\;             | -?src/**/a.py
find . -name '*.c' | xargs sed -i s/a/b/        | ?**/*.c
echo a b | xargs rm                             | -a -b
echo a | xargs -I{} mv {} {}                    | -a/ a/>a
for f in a b; do cp x $f; done                  | a>x b>x
for f in a b; do mv "$f" ${f}.old; done         | -a/ a.old/>a -b/ b.old/>b
for f in a b; do for g in c d; do cp $f $g; done; done | c>a d>a c>b d>b
x=(a b); cp ${x[@]} d                           | d/a d/b
set -- a b; cp "$@" d                           | d/a d/b
"""


def rows(table):
    for line in table.strip().splitlines():
        command, _, wanted = line.rpartition("|")
        yield pytest.param(command.strip(), wanted.split(), id=command.strip())


@pytest.mark.parametrize(("command", "wanted"), [*rows(PLAIN), *rows(SYNTAX)])
def test_a_command_writes(command, wanted):
    assert " ".join(seen(command)).split() == wanted


HEREDOCS = [
    ("cat <<'E' > a\n$(rm b)\nE\nrm c", ["a", "-c"]),
    ("cat <<E > a\n$(rm b)\nE", ["a", "-b"]),
    ("cat <<-E > a\n\tx\n\tE\nrm c", ["a", "-c"]),
    ("cat <<A <<B > c\n1\nA\n2\nB\nrm d", ["c", "-d"]),
    ("bash <<'E'\nrm a\nE", ["-a"]),
    ("tee a <<< text", ["a"]),
    ("python - <<'E'\nopen('a', 'w')\nE", ["a"]),
    (
        "apply_patch <<'E'\n*** Begin Patch\n*** Update File: a\n*** Delete File: b\n*** End Patch\nE",
        ["a", "-b"],
    ),
    ("git apply <<'E'\n--- a/x\n+++ b/x\nE", ["x"]),
    ("patch -p1 <<'E'\n--- a/x\n+++ b/y\nE", ["x", "y"]),
    ("cat > a <<'E'\nit's \"odd\nE\nrm b", ["a", "-b"]),
    ("rm a \\\n b", ["-a", "-b"]),
]


@pytest.mark.parametrize(("command", "wanted"), HEREDOCS)
def test_here_documents_are_data_or_programs(command, wanted):
    assert sorted(seen(command)) == sorted(wanted)


CODE = [
    ("from pathlib import Path; (Path.cwd() / 'a' / 'b').write_text('')", ["a/b"]),
    ("import os; open(os.path.join(os.getcwd(), 'a'), 'w')", ["a"]),
    ("import sqlite3; sqlite3.connect('a').execute('delete from x')", ["a"]),
    ("import sqlite3; sqlite3.connect('a').execute('select 1')", []),
    ("open('a','w')", ["a"]),
    ("open('a')", []),
    ("open('a', mode='r+')", ["a"]),
    ("p = 'a'\nopen(p, 'a')", ["a"]),
    ("Path('a').write_text('x')", ["a"]),
    ("p = Path('a'); p.write_text(p.read_text().replace('x', 'y'))", ["a"]),
    ("os.remove('a'); os.rename('b', 'c')", ["-a/", "-b/", "c"]),
    ("shutil.copy('a', 'b'); shutil.rmtree('d')", ["-d/", "b>a"]),
    ("os.system('rm a')", ["-a"]),
    ("subprocess.run(['sed', '-i', 's/a/b/', 'x'])", ["x"]),
    ("subprocess.run(['rm', 'a'], cwd='d'); os.remove('b')", ["-b/", "-d/a"]),
    ("def put(p):\n    s = open(p)\n    open(p, 'w')\nput('a')\nput(p='b')", ["a", "b"]),
    ("def get(p): return open(p)\ndef put(p): open(p, 'w')\nget('a'); put('b')", ["b"]),
    ("def a(p): open(p, 'w')\ndef main():\n    for p in ['x', 'y']: a(p)\nmain()", ["x", "y"]),
    (
        "def put(ps):\n    for p in ps:\n        q = Path(p)\n        q.unlink()\nput(['x'])",
        ["-x/"],
    ),
    ("d = {'a': 1, 'b': 2}\nfor n, t in d.items(): open(n, 'w')", ["a", "b"]),
    ("for n in {'a': 1}: open(n, 'w')", ["a"]),
    ("for a, b in [('x', 'y'), ('z', 'w')]: shutil.copyfile(a, b)", ["w", "y"]),
    ("for i, n in enumerate(['a', 'b']): open(n, 'w')", ["a", "b"]),
    ("for l in fileinput.input(['a', 'b'], inplace=True): print(l)", ["a", "b"]),
    ("for l in fileinput.input(files=('a',)): print(l)", []),
]


@pytest.mark.parametrize(("code", "wanted"), CODE)
def test_a_python_program_writes(code, wanted):
    assert sorted(seen(f'python3 -c "{code}"')) == sorted(wanted)
    assert sorted(seen(f"python3 <<'E'\n{code}\nE")) == sorted(wanted)


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("""node -e "require('fs').writeFileSync('a', 'x')" """, ["a"]),
        ("""node -e "fs.unlinkSync('a'); fs.renameSync('b', 'c')" """, ["-a/", "-b/", "c"]),
        ("""node -e "fs.writeFileSync(path.join(process.cwd(), 'a', 'b'), 'x')" """, ["a/b"]),
        ("""node -e "['a', 'b'].forEach(f => fs.appendFileSync(f, 'x'))" """, ["a", "b"]),
        ("""node -e "for (const f of ['a', 'b']) fs.writeFileSync(f, 'x')" """, ["a", "b"]),
        (
            """node --input-type=module -e "import {writeFile} from 'fs'; await writeFile('a', 'x')" """,
            ["a"],
        ),
        ("""ruby -e 'File.write("a", "x"); File.open("b", "w")' """, ["a", "b"]),
        ("""perl -e 'open(my $f, ">", "a"); unlink("b")' """, ["a", "-b/"]),
        ("""perl -e 'open(F, ">a")' """, ["a"]),
        ("""php -r 'file_put_contents("a", 1);' """, ["a"]),
        ("""deno eval "Deno.writeTextFileSync('a', '')" """, ["a"]),
    ],
)
def test_a_program_in_another_language_writes(command, wanted):
    assert sorted(seen(command)) == sorted(wanted)


GIT = [
    ("git checkout -- a b", ["a/", "b/"], []),
    ("git checkout HEAD~1 -- a", ["a/"], []),
    ("git checkout .", ["./"], []),
    ("git checkout main", [], [("checkout", "main")]),
    ("git checkout -b new", [], []),
    ("git checkout -b new main", [], [("switch", "main")]),
    ("git switch -", [], [("switch", "@{-1}")]),
    ("git restore a", ["a/"], []),
    ("git checkout -- '*.py'", ["?**/*.py/"], []),
    (
        "git checkout HEAD~1 -- ':(glob)src/*.py' ':(top)a' ':/b'",
        ["?src/*.py/", ":/a/", ":/b/"],
        [],
    ),
    ("git restore 'src/*.py' ':!src/b.py'", ["?src/**/*.py/"], []),
    ("git restore 'src/a?.py' '[x].py'", ["?src/a?.py/", "?[x].py/"], []),
    ("git stash push -- '*.py'", ["?**/*.py/"], []),
    ("git rm -r '*.py' ':(exclude)x'", ["-?**/*.py/"], []),
    ("git restore ':^x'; git checkout -- ':(literal)*.c'", ["./", "*.c/"], []),
    ("git restore --staged a", [], []),
    ("git reset --hard HEAD~1", [], [("reset", "HEAD~1")]),
    ("git reset a", [], []),
    ("git stash", [], [("stash", "")]),
    ("git stash push -u", [], [("stash", "all")]),
    ("git stash push -m x -- a", ["a/"], []),
    ("git stash pop", [], [("unstash", "stash@{0}")]),
    ("git stash list", [], []),
    ("git clean -fd", [], [("clean", "")]),
    ("git clean -fdx a", ["~a/"], [("clean", "ignored")]),
    ("git clean -fd *.o", ["-?*.o/"], []),
    ("git clean -nd", [], []),
    ("git rm -r a", ["-a/"], []),
    ("git rm --cached a", [], []),
    ("git mv a b", ["-a/", "b/>a"], []),
    ("git merge topic", [], [("merge", "topic")]),
    ("git rebase main", [], [("merge", "main")]),
    ("git merge --abort", [], [("abort", "")]),
    ("git cherry-pick abc", [], [("pick", "abc")]),
    ("git cherry-pick -s abc", [], [("pick", "abc")]),
    ("git rebase -i main", [], [("merge", "main")]),
    ("git merge -S -F note main", [], [("merge", "main")]),
    ("git commit -S -am x", [], [("commit", "all")]),
    ("git rebase -x 'echo x > a' main", ["a"], [("merge", "main")]),
    ("git commit -m x", [], [("commit", "")]),
    ("git commit -am x", [], [("commit", "all")]),
    ("git commit -m x a", [], [("commit", "only")]),
    ("git -c core.hooksPath= commit --no-verify -m x", [":/.git/config"], [("commit", "")]),
    ("git status; git diff; git log; git push", [], []),
    ("git add a", [], [("add", "")]),
]


@pytest.mark.parametrize(("command", "paths", "whole"), GIT)
def test_git_writes(command, paths, whole):
    found = writes(command, "/r", HOME)

    assert seen(command) == paths
    assert [(w.verb, w.revision) for w in found.whole] == whole


def test_a_commit_contains_what_was_staged_before_it():
    assert writes("cd src; git add a .; git commit -m x b").whole == (
        TreeCommand("add", "", "src", ("src/a", "src")),
        TreeCommand("commit", "only", "src", ("src/a", "src", "src/b")),
    )
    assert writes("git add -A && git commit -m x").whole == (
        TreeCommand("add", "", "", (":/",)),
        TreeCommand("commit", "", "", (":/",)),
    )


def test_git_with_a_folder_option_works_there():
    assert seen("git -C sub checkout -- a; rm b") == ["sub/a/", "-b"]
    assert writes("cd sub; git stash").whole == (TreeCommand("stash", "", "sub"),)


@pytest.mark.parametrize(
    "command", ["Set-Content a x", "pwsh -c 'Set-Content a x'", "ls | % { Remove-Item $_ }"]
)
def test_a_command_of_a_shell_that_is_not_read_is_not_quiet(command):
    assert not writes(command).quiet


@pytest.mark.parametrize(
    "command",
    [
        'rm "$UNKNOWN/a"', "cd $X && rm a", "rm $(ls)", "patch -p1 < x.diff", "git apply x.diff",
        """python -c "open(f'src/{x}.py', 'w')" """,
        "cat list | xargs rm", "tar xf a.tar", "git am < x", "echo 'x", '"$CMD" a',
    ],
)  # fmt: skip
def test_unknown_writes_are_reported_as_unsure(command):
    found = writes(command)

    assert found.unsure
    assert not found.targets


@pytest.mark.parametrize(
    "command",
    [
        "ls -la", "cd src && cat a | grep b", "git status; git diff", "sudo ls", "sed -n '1,200p' a",
        "nl -ba a | sed -n '5,$p'", "cut -f1 a | sort -u | uniq -c", "/bin/ls", "/usr/bin/git status",
        "git config user.name; git config --get a.b", "git remote -v", "git tag --list", "grep '[a-z]$' a",
        "git log --oneline --stat -- a", "git diff -- a", "rg --files --hidden", "tree --noreport",
    ],
)  # fmt: skip
def test_a_read_only_command_is_quiet(command):
    assert writes(command).quiet


@pytest.mark.parametrize(
    "command",
    [
        "pytest", "ls > a", "cat $(./run)", "git commit", "ls; make", "sudo make", "git alias", "$X",
        "PAGER='tee a' git log", "env PAGER='tee a' git log", "git grep -Orm x", "less -o a b",
        "sudo PAGER='tee a' git log", "git push", "case x in $(echo ')'; make)) ;; esac",
        "echo ${x:-$(f() { ls; }; make)}", "sed -n '1,5w b' a", "sed -n p -e 'w b' a", "sed -n p -i a",
        "sed -n '1e make' a", "sort -uo a b", "sort --output=a b", "./test -f a", "bin/date", "/tmp/ls",
        "for PATH in bin; do ls; done", "export PATH=bin:$PATH; ls", "PATH+=:bin; ls", "read PATH < a; ls",
        "hash -p bin/ls ls; ls", "alias ls=make; ls", "ls() { make; }; ls", ". ./ls", "printf -v PATH bin",
        "test -v 'a[$(make)]'", "[[ -f <(make) ]]", "[ $(./ls) ]", "x='a[$(make)]'; [[ x -eq 1 ]]",
        'echo "${x@P}"', "rg --pre ./run a", "tree -R .", "file -C a", "sudo -e a", "sudo -s < a",
        "git config core.pager ./run", "git remote add x y", "git tag -a v1", "git add -p",
        "git diff --ext-diff", "git branch --edit-description", "sort --compress-program=./run a",
        "git grep --open=./run x", "git fetch --upload-pa=./run . x", "git branch --edit", "git tag --ann v1",
    ],
)  # fmt: skip
def test_a_command_that_may_write_is_not_quiet(command):
    assert not writes(command).quiet


def test_reads_are_returned_only_on_request():
    assert seen("cat a < b; cp c d") == ["d>c"]
    assert seen("cat a < b; cp c d", reads=True) == ["<b", "<a", "<c", "d>c"]


PIECES = st.sampled_from([
    "$(", "`", "'", '"', "{", "}", "(", ")", "<<A\n", "A\n", "\n", ";;", "case x in ", "esac", "for i in ",
    "do ", "done", "> ", "&>", "$x", "${x", "\\", "{a,b}", "*", "[[", "]]", "((", "rm ", "git checkout ",
    "sed -i ", "bash -c ", "find . -exec ", "eval ", "python -c ", "cd ", "=", "=(", "xargs ", "|", "\0",
    " -", "~",
])  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=40).map("".join))
def test_no_text_raises(command):
    writes(command, "/r", HOME, reads=True)
    assert len(writes(command).targets) <= 2000


@pytest.mark.parametrize(
    "piece",
    ["$(", "(", "`", "{a,", "{a,b}", '"', "<<A\n", "a ", "rm a;", ">a ", "eval ", "bash -c '", "sudo ",
     "find . -exec ", "x=$x$x;", "a=(", "$((", "case x in "],
)  # fmt: skip
def test_a_long_text_is_parsed_in_time(piece):
    writes(piece * (1024 * 1024 // len(piece)))


@pytest.mark.parametrize(
    "text",
    [
        ("node -e '" + 'a="b"+' * 60_000 + "'; ") * 10,
        ("python3 -c 'x=" + "+".join(['"a"'] * 20_000) + "'; ") * 10,
        "echo x; " * 600_000,
        "echo " + "x" * 5_000_000 + "; ",
    ],
    ids=["node", "python", "commands", "word"],
)
def test_a_command_that_is_too_long_to_read_takes_little_time_and_is_unsure(text):
    begun = time.process_time()
    found = writes(f"{text}echo x > src/app.py")

    assert found.unsure
    assert not found.quiet
    assert time.process_time() - begun < 2.0


def test_a_program_that_is_too_long_does_not_hide_a_write_after_it():
    found = writes(
        "python3 -c '" + "x = 1\n" * 20_000 + '\'; echo x > a; python3 -c \'open("b", "w")\''
    )

    assert found.unsure
    assert [target.path for target in found.targets] == ["a"]


def test_a_command_that_takes_no_names_from_files_is_read_once():
    class Disk(FileSource):
        """Files that nothing must ask for."""

    first = writes("sed -i s/a/b/ c.py")

    assert writes("sed -i s/a/b/ c.py", disk=Disk()) is first


def test_a_command_that_takes_names_from_files_is_read_again_with_them():
    class Disk(FileSource):
        """Files with one list."""

        def text(self, path):
            return {"list": "c.py"}.get(path)

    assert writes("xargs rm < list").targets == ()

    found = writes("xargs rm < list", disk=Disk())

    assert [target.path for target in found.targets] == ["c.py"]
    assert writes("xargs rm < list").targets == ()
