"""Commands that agents run all day and that change no tracked file, one per line.

Each line has a program, an option, or a form that no other line has.
"""

COMMANDS = r"""
ls -la
ls > build.log
cat src/app.py | head -20
head -n 50 src/app.py && tail -n 5 README.md
less -N src/app.py
wc -l src/*.py
file src/app.py
stat src/app.py
du -sh . | sort -h
tree -L 2 src
pwd; whoami; date
which python3 node npm
echo "a > b" && echo 'src/app.py > out'
echo $((3 > 2))
if (( $(wc -l < src/app.py) > 5 )); then echo long; fi
[[ "$a" > "src/app.py" ]] && echo later
test -f src/app.py && echo yes || echo no
[ 3 -gt 2 ] && echo bigger
for f in src/*.py; do wc -l "$f"; done
true && false || true
env FOO=1 python3 -m pytest -q
export FOO=bar; echo $FOO
grep -c x src/app.py 2>/dev/null || true
grep -rl "old" src | xargs grep -n "new"
rg -n "class " src --type py
ag "foo" src
find . \( -name '*.pyc' -o -name '*.pyo' \) -delete
find . -name '*.tmp' -not -path './node_modules/*' -delete
find . -type d -empty -delete
find src -type f -newer README.md
find . -name '*.py' -print0 | xargs -0 grep -n foo
find dist -name '*.map' -delete
find . -name .DS_Store -delete
sed -n '1,40p' src/app.py
sed 's/a/b/' src/app.py | diff src/app.py -
perl -ne 'print if /foo/' src/app.py
perl -pe 's/a/b/' src/app.py > /dev/null
cut -d: -f1 /etc/passwd | sort | uniq -c
sort src/app.py | uniq -d
tr a-z A-Z < src/app.py
cmp src/app.py src/util.py
comm -12 <(sort src/app.py) <(sort src/util.py)
jq '.dependencies | keys | length > 3' package.json
yq '.services' docker-compose.yml
md5sum src/app.py README.md
git status
git status --short --branch
git log --format='%h > %s' -5
git log -p -- src/app.py
git diff --stat HEAD
git diff --cached --name-only
git diff main...HEAD --check
git show --stat
git blame -L 1,10 src/app.py
git branch -a
git tag --list
git ls-tree -r HEAD
git rev-parse HEAD
git rev-list --count HEAD
git merge-base HEAD main
git describe --tags --always
git shortlog -sn
git reflog -5
git stash show -p stash@{0}
git checkout --help
git reset --help
git stash --help
git clean --help
git rebase -h
git help checkout
git config --get user.name
git config --list
git worktree list
git submodule status
git grep -n foo
git cat-file -p HEAD
git for-each-ref
git fetch --dry-run
git clean -n
git clean -ndx
git clean -nfd src
git apply --check /tmp/my.patch
git apply --stat /tmp/my.patch
git add --dry-run .
git add -n src
git commit --dry-run
git restore --staged notes.md
git reset -q
git rm --dry-run -r src
git bisect log
git am --help
git archive -o /tmp/x.tar HEAD src
git bundle create /tmp/x.bundle HEAD
git push --dry-run
pytest -q | tee pytest.log
python3 -c "print(open('src/app.py').read())"
python3 - <<'X'
python -m timeit -n 10 '1 > 0'
python -m unittest discover -s tests
python scripts/report.py --check
tox -e py311
nox -s tests
coverage run -m pytest && coverage report
coverage html
mypy src
pyright src
pylint src
flake8 src
bandit -r src
ruff check src --output-format concise
ruff check --diff src
ruff format --check .
black --check --diff src
isort --check-only src
isort --check --diff .
autopep8 --diff src/app.py
yapf --diff src/app.py
pyupgrade --help
pip show requests
uv run ruff format --check src
uv sync --frozen
uv sync --locked
poetry show
pre-commit run --all-files --show-diff-on-failure
npm test -- --watch=false > test.log
npm ls --depth=0
npm audit
npm view react version
npx tsc -p tsconfig.json --noEmit
npx eslint src --ext .ts,.tsx
npx prettier --check .
npx prettier -c src
npx jest --ci --coverage
npx vitest run
eslint .
eslint src --fix-dry-run
prettier --check "src/**/*.ts"
prettier --list-different src
stylelint "src/**/*.css"
biome check src
tsc --noEmit
yarn install --frozen-lockfile
yarn install --immutable
pnpm -r build
pnpm install --frozen-lockfile
bun test
deno fmt --check
deno lint
cargo clippy -- -D warnings
rustfmt --check src/main.rs
go list -m all
go mod verify
go mod download
gofmt -l .
gofmt -d src
golangci-lint run
make -n install
cmake --build build
ninja -C build
ctest --test-dir build
clang-format --dry-run -Werror src/main.c
shellcheck scripts/build.sh
shfmt -d scripts
shfmt -l .
terraform fmt -check -recursive
terraform fmt -check -diff infra
terraform fmt -write=false
tofu fmt -check
dart format --output=none --set-exit-if-changed .
dart analyze
flutter test
mix format --check-formatted
rubocop --parallel src
bundle exec rubocop
composer validate
php -l src/index.php
swiftformat --lint .
ktlint
./gradlew test
mvn -q test
dotnet test
docker build -t app .
docker compose up -d
docker compose logs --tail=50 > /tmp/compose.log
docker run --rm -v "$PWD":/app app pytest
kubectl get pods
helm lint charts/app
curl -s http://localhost:8000/health
curl -sS https://example.com -o /tmp/page.html
curl -s https://example.com | jq .
wget -q -O /tmp/x https://example.com
tar cf - src | wc -c
unzip -l release.zip
unzip -p release.zip a.txt
unzip release.zip -d /tmp/out
gzip -c src/app.py > /tmp/app.gz
zip -q - src/app.py | wc -c
zstd -q src/app.py -o /tmp/o.zst
dos2unix -n src/app.py /tmp/b
gzip -t x.gz
zcat x.gz | head
cp src/app.py /tmp/
rsync -a src/ /tmp/src/
rsync -an src/ docs/
mkdir -p dist/assets
touch /tmp/stamp
rm -f *.log
mv dist/app.js dist/main.js
date > .cache/stamp
node -e "require('fs').writeFileSync('dist/x.txt', 'x')"
node --test
ruby -e 'puts 1 > 0'
psql -c "select 1 where 2 > 1"
sqlite3 /tmp/x.db "select 1"
redis-cli ping
ps aux | grep node | grep -v grep
kill %1
lsof -i :8000
sleep 1
timeout 60 pytest -q
time pytest -q
nohup npm start > server.log 2>&1 &
xargs -n1 echo < README.md
seq 3 | while read i; do echo $i; done
cd src && ls && cd ..
(cd src && python -m pytest -q)
cd /tmp && git init -q scratch && cd scratch && touch a
bash -c 'ls src | wc -l'
cat <<'EOT'
gh pr view 12 --json title
gh run list --limit 5
gh issue create --title "x > y" --body "z"
grep -rl x docs | xargs wc -l
git grep -l zzz_nothing | xargs -r sed -i s/a/b/
rg -l zzz_nothing | xargs -r perl -pi -e s/a/b/
for f in $(grep -rl zzz_nothing src); do sed -i s/a/b/ "$f"; done
for f in $(find src -name '*.py'); do head -1 "$f"; done
for f in `ls src`; do echo $f; done
git ls-files | while read -r f; do test -f "$f" || echo "$f"; done
find src -name '*.py' -exec sh -c 'wc -l "$1"' _ {} \;
cat /tmp/none.txt | xargs -r cat
bash -euo pipefail -c 'pytest -q | tail -3'
bash -eu -o pipefail -c 'grep -c x src/app.py; ls src'
sh -c 'cat "$1"' sh src/app.py
bash -c 'wc -l "$@"' - src/app.py src/util.py
set -- src/app.py; cat "$1"
D=src; ls $D && cat "$D/app.py"
patch --dry-run -p1 < /tmp/my.patch
git apply --numstat /tmp/my.patch
git diff main..HEAD | wc -l
git show HEAD -- src/app.py | head -50
git format-patch -1 --stdout | git apply --check
git log --all --oneline --graph | head -30
git log -S'needle' --oneline -- src
git config --get-regexp '^user'
git remote get-url origin
tar -tvf release.tar.gz
tar -C /tmp -xf release.tar.gz
zipinfo release.zip
rsync -avn --delete src/ /tmp/src/
rsync --dry-run -a src/ docs/
python3 -c "from pathlib import Path; print((Path('src') / 'app.py').read_text())"
python3 -c "import os; [print(n) for _, _, ns in os.walk('src') for n in ns]"
python3 -c "import pathlib; print([p.name for p in pathlib.Path('src').glob('*.py')])"
python3 -c "import json; json.dump({}, open('/tmp/x.json', 'w'))"
python3 -c "import shutil; shutil.copy('src/app.py', '/tmp/app.py')"
python3 -c "s = open('src/app.py').read(); print(s.replace('a', 'b'))"
python3 -c "with open('src/app.py') as f: print(len(f.readlines()))"
python3 -c "import subprocess; subprocess.run(['ls', 'src'])"
perl -e 'open(F, "<", "src/app.py"); print while <F>'
awk 'BEGIN { while ((getline line < "src/app.py") > 0) n++; print n }'
awk '{ print > "/tmp/out.txt" }' src/app.py
xxd -l 16 src/main.c
openssl rand -hex 16
openssl dgst -sha256 src/app.py
codespell src
sd -p x y src/app.py
ast-grep run -p 'x' src
npx jscodeshift -d -t t.js src
yarn prettier --check src
pnpm prettier --check src
npm run test:unit -- --coverage
tsc -p . --noEmit --pretty false
esbuild src/app.ts --bundle > dist/out.js
scp src/app.py host:/srv/app.py
aws s3 cp src/app.py s3://bucket/app.py
mapfile -t files < requirements.txt; echo "${files[@]}"
printf '%s\n' src/*.py | xargs wc -l
ls src/*.py | xargs -I{} cp {} /tmp/
./scripts/build.sh
bash scripts/build.sh --check
git fetch --all --prune
git stash list --format=%gd
parallel echo ::: src/app.py src/util.py
parallel 'grep -c x {}' ::: src/app.py src/util.py
git mv -n README.md R.md
git update-index --refresh
git diff --no-index src/app.py src/util.py
npm pkg get name
uv lock --check
wget --spider https://example.com
patch -o /tmp/out.py src/app.py /tmp/x.patch
diff -u src/app.py src/util.py | patch --dry-run src/app.py
python3 -c "import sqlite3; c = sqlite3.connect(':memory:'); c.execute('create table t(a)')"
sqlite3 :memory: 'create table t(a)'
python3 -m cProfile -o /tmp/prof src/app.py
cargo fmt --all -- --check
black - < src/app.py
while IFS= read -r f; do wc -l "$f"; done < <(find src -name '*.py')
for f in $(git diff --name-only HEAD); do git diff HEAD -- "$f" | head -5; done
count() { wc -l < "$1"; }; count src/app.py
rg --files src | xargs wc -l
cat "$(realpath src/app.py)"
script -qc 'ls src' /dev/null
shuf -n 3 src/app.py
iconv -f utf-8 -t ascii src/app.py
ssh host 'cat > /tmp/x' < src/app.py
D=$(mktemp -d); cp -r src $D/; (cd $D/src && sed -i s/x/y/ app.py)
show() { grep -n "$1" src/app.py; }; show x
each() { for f in "$@"; do wc -l "$f"; done; }; each src/*.py
put() { cat > "$1"; }; put /tmp/app.py < src/app.py
run() { "$@"; }; run cat src/app.py
log() { echo "$@" >> /tmp/run.log; }; log rm src/app.py
python3 -c "[print(k, open(k).read()) for k, v in {'src/app.py': 'w'}.items()]"
python3 -c 'import ast, sys; ast.parse(open("src/app.py").read())'
node -e "['src/app.ts'].forEach(f => console.log(require('fs').readFileSync(f, 'utf8')))"
node -p "require('path').join(process.cwd(), 'src', 'app.ts')"
npx prettier@3 --check 'src/*.{ts,js}'
uvx ruff@latest check src
git diff -- src/app.py | grep '^[+-]' | wc -l
git -c color.ui=always diff | head
GIT_PAGER=cat git log -2
git diff-tree --no-commit-id -r --name-only HEAD
git diff-index HEAD --name-only
git archive HEAD | (mkdir -p /tmp/exp && tar x -C /tmp/exp)
git symbolic-ref HEAD
git restore --staged .
while IFS= read -r line; do echo "> $line"; done < src/app.py
exec 3< src/app.py; head -1 <&3; exec 3<&-
echo "do not run rm src/app.py" >&2
printf 'echo x > src/app.py\n' > /tmp/script.sh
read -r first < src/app.py; echo "$first"
T=$(mktemp -d) && cp -r . $T/ && cd $T && sed -i s/x/y/ src/app.py && cd - && rm -rf $T
trap 'rm -rf /tmp/h-x' EXIT; mkdir -p /tmp/h-x && cp src/app.py /tmp/h-x && sed -i s/x/y/ /tmp/h-x/app.py
gh pr create --title 'fix' --body 'src/app.py > src/util.py'
curl -sf -X POST -d @package.json http://127.0.0.1:8000/
gcc -o build/app -x c - <<< 'int main(){return 0;}'
rm -rf dist build && mkdir -p build
vim -R -es -c q src/app.py
bash -n scripts/build.sh
"""
