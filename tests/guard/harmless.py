"""Commands that agents run all day and that change no tracked file, one per line."""

COMMANDS = r"""
ls -la
ls src > /dev/null 2>&1
ls > build.log
cat src/app.py
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
while read -r line; do echo "$line"; done < src/app.py
printf '%s\n' "done" >&2
true && false || true
env | sort
env FOO=1 python3 -m pytest -q
export FOO=bar; echo $FOO
grep -rn "def main" src
grep -rn "TODO" . > /dev/null
grep -r "import os" src > /tmp/imports.txt
grep -c x src/app.py 2>/dev/null || true
grep -rl "old" src | xargs grep -n "new"
grep -rl "old" src | xargs wc -l
rg -n "class " src --type py
rg "foo" src > /tmp/rg.txt 2>&1
ag "foo" src
find . -name '*.py'
find . -name '*.pyc' -delete
find . -name "*.pyc" -type f -delete
find . -type f -name '*.pyo' -exec rm -f {} +
find . -type d -name __pycache__ -exec rm -rf {} +
find . -type d -name __pycache__ -prune -exec rm -rf {} \;
find src -name '*.orig' -delete
find . \( -name '*.pyc' -o -name '*.pyo' \) -delete
find . -name '*.tmp' -not -path './node_modules/*' -delete
find . -type d -empty -delete
find src -type f -newer README.md
find . -name '*.py' -exec grep -l foo {} +
find . -name '*.py' -print0 | xargs -0 grep -n foo
find . -name '*.py' | xargs wc -l | tail -1
find . -maxdepth 2 -name package.json -not -path '*/node_modules/*'
find dist -name '*.map' -delete
find . -name .DS_Store -delete
find . -name '*.rej' | xargs rm -f
sed -n '1,40p' src/app.py
sed -n '/def main/,/^$/p' src/app.py
sed 's/a/b/' src/app.py | diff src/app.py -
sed -e 's/x/y/' src/app.py > /tmp/app.py
awk 'NR>1 {print $1}' src/app.py
awk -F: '$3 > 100 {print $1}' /etc/passwd
awk '{ print $1 > "/dev/stderr" }' README.md
perl -ne 'print if /foo/' src/app.py
perl -pe 's/a/b/' src/app.py > /dev/null
cut -d: -f1 /etc/passwd | sort | uniq -c
sort src/app.py | uniq -d
sort -u src/app.py > /tmp/sorted.txt
tr a-z A-Z < src/app.py
diff -u src/app.py src/util.py
diff <(sort src/app.py) <(sort src/util.py)
cmp src/app.py src/util.py
comm -12 <(sort src/app.py) <(sort src/util.py)
jq '.scripts' package.json
jq '.dependencies | keys | length > 3' package.json
yq '.services' docker-compose.yml
xxd src/app.py | head
md5sum src/app.py README.md
git status
git status --short --branch
git log --oneline -20
git log --format='%h > %s' -5
git log -p -- src/app.py
git diff
git diff --stat HEAD
git diff > /tmp/x
git diff HEAD -- src > /tmp/my.patch
git diff --cached --name-only
git diff main...HEAD --check
git show HEAD:src/app.py
git show --stat
git show HEAD:src/app.py > /tmp/old.py
git blame -L 1,10 src/app.py
git branch -a
git branch --show-current
git tag --list
git remote -v
git ls-files src
git ls-tree -r HEAD
git rev-parse HEAD
git rev-list --count HEAD
git merge-base HEAD main
git describe --tags --always
git shortlog -sn
git reflog -5
git stash list
git stash show
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
git reset HEAD notes.md
git reset -q
git rm --dry-run -r src
git check-ignore -v dist
git bisect log
git am --help
git merge-tree HEAD HEAD
git archive HEAD > /tmp/x.tar
git archive -o /tmp/x.tar HEAD src
git bundle create /tmp/x.bundle HEAD
git format-patch -1 --stdout > /tmp/1.patch
git push --dry-run
pytest
pytest -q tests/test_app.py -k foo
python -m pytest -x 2>&1 | tail -20
python3 -m pytest --cov=src --cov-report=html
python -m pytest > pytest.log 2>&1
pytest -q | tee pytest.log
pytest -q 2>&1 | tee /tmp/pytest.txt
python3 -c "print(open('src/app.py').read())"
python3 -c 'import json; print(json.load(open("package.json"))["name"])'
python3 - <<'X'
python -m compileall -q src
python3 -m py_compile src/app.py
python -m json.tool package.json
python -m http.server 8000 &
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
ruff check .
ruff check src --output-format concise
ruff check --diff src
ruff format --check .
ruff format --diff src
black --check .
black --check --diff src
black --diff src/app.py
isort --check-only src
isort --check --diff .
autopep8 --diff src/app.py
yapf --diff src/app.py
pyupgrade --help
pip install -r requirements.txt
pip install -e . > /dev/null
pip list --outdated
pip freeze > /tmp/freeze.txt
pip show requests
uv pip list
uv run pytest -q
uv run ruff check .
uv run ruff format --check src
uv sync --frozen
uv sync --locked
uv tree
poetry run pytest
poetry install
poetry show
pre-commit run --all-files --show-diff-on-failure
npm test
npm test -- --watch=false > test.log
npm run build
npm run lint
npm run build > build.log 2>&1
npm ci
npm ls --depth=0
npm outdated
npm audit
npm view react version
npm run dev > /tmp/dev.log 2>&1 &
npx tsc --noEmit
npx tsc -p tsconfig.json --noEmit
npx eslint .
npx eslint src --ext .ts,.tsx
npx prettier --check .
npx prettier -c src
npx prettier src/app.ts > /dev/null
npx jest --ci --coverage
npx vitest run
npx playwright test
npx --yes cowsay hi
eslint .
eslint src --max-warnings 0
eslint src --fix-dry-run
prettier --check "src/**/*.ts"
prettier --list-different src
stylelint "src/**/*.css"
biome check src
biome format src
biome lint .
biome ci .
tsc --noEmit
yarn test
yarn build
yarn install --frozen-lockfile
yarn install --immutable
pnpm test
pnpm -r build
pnpm install --frozen-lockfile
bun test
bun run build
deno test
deno fmt --check
deno lint
cargo build
cargo test
cargo check --all-targets
cargo clippy -- -D warnings
cargo fmt --check
cargo fmt -- --check
cargo tree
rustfmt --check src/main.rs
go build ./...
go test ./...
go vet ./...
go list -m all
go mod verify
go mod download
gofmt -l .
gofmt -d src
golangci-lint run
make
make test
make -n
make -n install
make -j4 build 2>&1 | tail -5
make clean
cmake -S . -B build
cmake --build build
ninja -C build
ctest --test-dir build
gcc -o build/app src/main.c
gcc -fsyntax-only src/main.c
gcc -o /tmp/app src/main.c
clang-format --dry-run -Werror src/main.c
shellcheck scripts/build.sh
shfmt -d scripts
shfmt -l .
terraform fmt -check
terraform fmt -check -recursive
terraform fmt -check -diff infra
terraform fmt -write=false
terraform plan
terraform validate
terraform init -backend=false
tofu fmt -check
dart format --output=none --set-exit-if-changed .
dart analyze
flutter test
mix format --check-formatted
mix test
rubocop
rubocop --parallel src
bundle exec rspec
bundle exec rubocop
bundle check
composer install
composer validate
php -l src/index.php
swiftformat --lint .
ktlint
./gradlew test
mvn -q test
dotnet test
docker ps
docker build -t app .
docker compose up -d
docker compose logs --tail=50 > /tmp/compose.log
docker run --rm -v "$PWD":/app app pytest
kubectl get pods
helm lint charts/app
curl -s http://localhost:8000/health
curl -sS https://example.com -o /tmp/page.html
curl -s https://example.com > /dev/null
curl -s https://example.com | jq .
wget -qO- https://example.com
wget -q -O /tmp/x https://example.com
tar tf release.tar.gz
tar tzvf release.tar.gz | head
tar xzf release.tar.gz -C /tmp/out
tar czf /tmp/src.tgz src
tar cf - src | wc -c
unzip -l release.zip
unzip -p release.zip a.txt
unzip release.zip -d /tmp/out
zip -r /tmp/src.zip src
gzip -c src/app.py > /tmp/app.gz
zip -q - src/app.py | wc -c
zip -qj /tmp/o.zip src/app.py
zip -sf src/app.py
zstd -q src/app.py -o /tmp/o.zst
dos2unix -n src/app.py /tmp/b
gzip -t x.gz
zcat x.gz | head
cp src/app.py /tmp/
cp -r src /tmp/src-copy
cp dist/app.js dist/app.old.js
rsync -a src/ /tmp/src/
rsync -an src/ docs/
mkdir -p dist/assets
mkdir -p /tmp/work && cd /tmp/work && touch a.txt
touch /tmp/stamp
touch dist/.stamp
rm -f /tmp/x
rm -rf dist
rm -rf node_modules
rm -rf node_modules/.cache .pytest_cache .mypy_cache .ruff_cache
rm -rf src/__pycache__
rm -f src/debug.log build.log
rm -rf src/**/__pycache__
rm -f *.log
rm -rf build && mkdir build
mv dist/app.js dist/main.js
echo hi > dist/out.txt
echo "start" >> src/debug.log
date > .cache/stamp
cat src/app.py > dist/bundle.py
node -e "console.log(require('./package.json').name)"
node -e "console.log([1,2].map(x => x > 1))"
node -e "require('fs').writeFileSync('dist/x.txt', 'x')"
node scripts/build.js > build.log 2>&1
node --test
ruby -e 'puts 1 > 0'
php -r 'echo 1;'
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
ls src | xargs -I{} echo {}
seq 3 | while read i; do echo $i; done
cd src && ls && cd ..
(cd src && python -m pytest -q)
cd /tmp && git init -q scratch && cd scratch && touch a
bash -c 'ls src | wc -l'
bash scripts/build.sh > build.log
sh -c "grep -c x src/app.py > /dev/null"
set -euo pipefail; pytest -q
cat <<'EOT'
gh pr view 12 --json title
gh run list --limit 5
gh issue create --title "x > y" --body "z"
grep -rl "zzz_nothing" src | xargs -r sed -i s/a/b/
grep -rl "zzz_nothing" . | xargs -r sed -i 's/a/b/'
grep -rl x docs | xargs wc -l
git grep -l zzz_nothing | xargs -r sed -i s/a/b/
rg -l zzz_nothing | xargs -r perl -pi -e s/a/b/
for f in $(grep -rl zzz_nothing src); do sed -i s/a/b/ "$f"; done
for f in $(ls src/*.py); do echo "$f"; done
for f in $(git ls-files src); do wc -l "$f"; done
for f in $(find src -name '*.py'); do head -1 "$f"; done
for f in `ls src`; do echo $f; done
ls src | while read f; do echo "src/$f"; done
git ls-files | while read -r f; do test -f "$f" || echo "$f"; done
find src -name '*.py' | xargs grep -n import
find src -type f -newer README.md | xargs -r ls -l
find . -type d -name src | xargs ls
find src -name '*.py' -exec sh -c 'wc -l "$1"' _ {} \;
cat requirements.txt | xargs -n1 echo
cat /tmp/none.txt | xargs -r cat
bash -euo pipefail -c 'pytest -q | tail -3'
bash -eu -o pipefail -c 'grep -c x src/app.py; ls src'
sh -c 'cat "$1"' sh src/app.py
bash -c 'wc -l "$@"' - src/app.py src/util.py
set -- src/app.py; cat "$1"
D=src; ls $D && cat "$D/app.py"
patch --dry-run -p1 < /tmp/my.patch
patch -p1 --dry-run -i /tmp/my.patch
git apply --check < /tmp/my.patch
git apply --numstat /tmp/my.patch
git diff HEAD~0 HEAD -- src | cat
git diff main..HEAD | wc -l
git show HEAD -- src/app.py | head -50
git archive HEAD src | tar t
git archive HEAD | tar x -C /tmp/out
git format-patch -1 --stdout | git apply --check
git log --all --oneline --graph | head -30
git log -S'needle' --oneline -- src
git config --get-regexp '^user'
git remote get-url origin
git worktree list --porcelain
tar -tvf release.tar.gz
tar xf release.tar.gz -O a.txt | head
tar -C /tmp -xf release.tar.gz
unzip -Z1 release.zip
zipinfo release.zip
rsync -avn --delete src/ /tmp/src/
rsync --dry-run -a src/ docs/
python3 -c "from pathlib import Path; print((Path('src') / 'app.py').read_text())"
python3 -c "import os; print(os.path.join('src', 'app.py'))"
python3 -c "import os; [print(n) for _, _, ns in os.walk('src') for n in ns]"
python3 -c "import pathlib; print([p.name for p in pathlib.Path('src').glob('*.py')])"
python3 -c "import json; json.dump({}, open('/tmp/x.json', 'w'))"
python3 -c "import shutil; shutil.copy('src/app.py', '/tmp/app.py')"
python3 -c "s = open('src/app.py').read(); print(s.replace('a', 'b'))"
python3 -c "with open('src/app.py') as f: print(len(f.readlines()))"
python3 -c "import subprocess; subprocess.run(['ls', 'src'])"
python3 -c "print('src/app.py' + ' > out', 1 > 0)"
node -e "const fs = require('fs'); console.log(fs.readFileSync('src/app.ts', 'utf8').length)"
node -e "const fs = require('fs'); fs.readdirSync('src').forEach(f => console.log(f))"
node -e "const path = require('path'); console.log(path.join('src', 'app.ts'))"
node -e "require('fs').copyFileSync('src/app.ts', '/tmp/app.ts')"
perl -e 'open(F, "<", "src/app.py"); print while <F>'
ruby -e 'puts File.read("src/app.py")'
awk 'BEGIN { while ((getline line < "src/app.py") > 0) n++; print n }'
awk '{ print > "/tmp/out.txt" }' src/app.py
sqlite3 dist/app.db .tables
xxd -l 16 src/main.c
openssl rand -hex 16
openssl dgst -sha256 src/app.py
codespell src
sd -p x y src/app.py
ast-grep run -p 'x' src
npx jscodeshift -d -t t.js src
yarn lint
yarn prettier --check src
pnpm lint
pnpm prettier --check src
npm run test:unit -- --coverage
npm run format:check
tsc -p . --noEmit --pretty false
esbuild src/app.ts --bundle > dist/out.js
scp src/app.py host:/srv/app.py
aws s3 cp src/app.py s3://bucket/app.py
trap 'rm -f /tmp/lock' EXIT; ls src
mapfile -t files < requirements.txt; echo "${files[@]}"
while read -r f; do cat "$f"; done < /tmp/none.txt
printf '%s\n' src/*.py | xargs wc -l
echo src/app.py | xargs cat
ls src/*.py | xargs -I{} cp {} /tmp/
ls src | xargs -I{} echo src/{}
diff <(ls src) <(ls docs)
./scripts/build.sh
bash scripts/build.sh --check
make -C docs html
git fetch --all --prune
git branch --merged
git stash list --format=%gd
parallel echo ::: src/app.py src/util.py
parallel 'grep -c x {}' ::: src/app.py src/util.py
git mv -n README.md R.md
git submodule foreach git status
git shortlog -sn HEAD
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
npx prettier --check 'src/**/*.ts'
yarn run build
cargo fmt --all -- --check
black - < src/app.py
while IFS= read -r f; do wc -l "$f"; done < <(find src -name '*.py')
while read -r f; do wc -l "$f"; done <<< src/app.py
for f in $(git diff --name-only HEAD); do git diff HEAD -- "$f" | head -5; done
count() { wc -l < "$1"; }; count src/app.py
rg --files src | xargs wc -l
cat "$(realpath src/app.py)"
script -qc 'ls src' /dev/null
xxd src/app.py | head
shuf -n 3 src/app.py
iconv -f utf-8 -t ascii src/app.py
ssh host 'cat > /tmp/x' < src/app.py
D=$(mktemp -d); cp -r src $D/; (cd $D/src && sed -i s/x/y/ app.py)
cd $(mktemp -d) && echo x > README.md && git init -q
show() { grep -n "$1" src/app.py; }; show x
each() { for f in "$@"; do wc -l "$f"; done; }; each src/*.py
put() { cat > "$1"; }; put /tmp/app.py < src/app.py
run() { "$@"; }; run cat src/app.py
log() { echo "$@" >> /tmp/run.log; }; log rm src/app.py
python3 -c "[print(k, open(k).read()) for k, v in {'src/app.py': 'w'}.items()]"
python3 -c "get = lambda path: open(path).read(); print(get('src/app.py'))"
python3 -c 'import ast, sys; ast.parse(open("src/app.py").read())'
node -e "['src/app.ts'].forEach(f => console.log(require('fs').readFileSync(f, 'utf8')))"
node -p "require('path').join(process.cwd(), 'src', 'app.ts')"
npx prettier@3 --check 'src/*.{ts,js}'
npx -y eslint@9 'src/**/*.{ts,tsx}'
npx @biomejs/biome@2.1.0 check src
uvx ruff@latest check src
cp -rT src /tmp/src-copy
git diff HEAD | head -50
git diff -- src/app.py | grep '^[+-]' | wc -l
git diff HEAD --name-only | xargs wc -l
git --no-pager log -3
git -c color.ui=always diff | head
GIT_PAGER=cat git log -2
git check-attr -a src/app.py
git diff-tree --no-commit-id -r --name-only HEAD
git diff-index HEAD --name-only
git rev-list --objects HEAD | head -2
git archive HEAD | (mkdir -p /tmp/exp && tar x -C /tmp/exp)
git symbolic-ref HEAD
git var GIT_EDITOR
git fsck --no-progress | head -2
git restore --staged .
diff -u src/app.py src/util.py > /tmp/app.patch; patch --dry-run src/app.py /tmp/app.patch
while IFS= read -r line; do echo "> $line"; done < src/app.py
exec 3< src/app.py; head -1 <&3; exec 3<&-
echo 'sed -i s/a/b/ src/app.py'
echo "do not run rm src/app.py" >&2
printf 'echo x > src/app.py\n' > /tmp/script.sh
read -r first < src/app.py; echo "$first"
cat src/app.py 2>&1 1>/dev/null
T=$(mktemp -d) && cp -r . $T/ && cd $T && sed -i s/x/y/ src/app.py && cd - && rm -rf $T
trap 'rm -rf /tmp/h-x' EXIT; mkdir -p /tmp/h-x && cp src/app.py /tmp/h-x && sed -i s/x/y/ /tmp/h-x/app.py
docker run --rm -v "$PWD":/app:ro alpine cat /app/src/app.py
docker cp app:/tmp/report.txt /tmp/report.txt
gh pr create --title 'fix' --body 'src/app.py > src/util.py'
curl -sf -X POST -d @package.json http://127.0.0.1:8000/
curl -sT src/app.py http://127.0.0.1:8000/
gcc -o build/app -x c - <<< 'int main(){return 0;}'
rm -rf dist build && mkdir -p build
vim -R -es -c q src/app.py
less src/app.py | cat
bash -n scripts/build.sh
nohup sleep 0.1 > /dev/null 2>&1 &
"""
