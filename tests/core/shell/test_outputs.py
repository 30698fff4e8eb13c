"""Commands that take the names of files from the disk: patches, archives, lists, and searches."""

import pytest

from dibs.core.shell.effects import FileSource
from dibs.core.shell.writes import writes

PATCH = "diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-a\n+b\n"
FILES = {"/r/x.patch": PATCH, "/r/list.txt": "src/a.py\nsrc/b.py\n", "x.patch": PATCH}
FILES["list.txt"] = FILES["/r/list.txt"]
FILES["new.sh"] = "cd src\necho x > new.py\n"
FILES["new.sql"] = "select 1;\ninsert into t values (1);\n"
FILES["codex.patch"] = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-a\n+b\n*** End Patch\n"


class FakeDisk(FileSource):
    """A disk with a few files; a search finds its text in one of them."""

    def __init__(self):
        self.asked = []

    def text(self, path):
        return FILES.get(path)

    def names(self, path):
        return ["a.py", "b.py"] if path in {"src", "src/"} else None

    def members(self, path):
        return ["src/a.py", "top.txt"] if path.endswith((".tar", ".zip")) else None

    def holding(self, place, paths, wanted):
        self.asked.append((place, [arg.text for arg in paths], wanted))
        return ["src/a.py"]


def seen(command):
    found = writes(command, "/r", "/home/u", disk=FakeDisk())
    return sorted({one.path for one in found.targets})


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("git apply x.patch", ["src/a.py"]),
        ("git apply --directory=sub x.patch", ["sub/src/a.py"]),
        ("git apply --check x.patch", []),
        ("ls | xargs rm -r", []),
        ("cat x.patch | git apply", ["src/a.py"]),
        ("patch -p1 < x.patch", ["src/a.py"]),
        ("patch -p1 -i x.patch", ["src/a.py"]),
        ("apply_patch < codex.patch", ["src/a.py"]),
        ("cat codex.patch | apply_patch", ["src/a.py"]),
        ("bash < new.sh", ["src/new.py"]),
        ("cat new.sh | bash", ["src/new.py"]),
        ("cat <<X | sh\ncd src\necho x > new.py\nX", ["src/new.py"]),
        ("echo echo x '>' new.py | sh", ["new.py"]),
        ("sqlite3 a.db < new.sql", ["a.db"]),
        ("patch -p1 --dry-run < x.patch", []),
        ("patch -d src -p2 < x.patch", ["src/a.py"]),
        ("git am x.patch", ["src/a.py"]),
        ("git am < x.patch", ["src/a.py"]),
        ("tar xf a.tar", ["src/a.py", "top.txt"]),
        ("tar xf a.tar -C d", ["d/src/a.py", "d/top.txt"]),
        ("tar xf a.tar --strip-components=1", ["a.py"]),
        ("tar xf a.tar src", ["src"]),
        ("tar tf a.tar", []),
        ("cat a.tar | tar xf -", ["src/a.py", "top.txt"]),
        ("unzip -o a.zip -d d", ["d/src/a.py", "d/top.txt"]),
        ("unzip -l a.zip", []),
        ("python3 -m zipfile -e a.zip d", ["d/src/a.py", "d/top.txt"]),
        ("rm $(cat list.txt)", ["src/a.py", "src/b.py"]),
        ("rm $(< list.txt)", ["src/a.py", "src/b.py"]),
        ("xargs rm < list.txt", ["src/a.py", "src/b.py"]),
        ("xargs -a list.txt rm", ["src/a.py", "src/b.py"]),
        ("cat list.txt | sort -u | head -3 | xargs rm", ["src/a.py", "src/b.py"]),
        ("cat list.txt | grep b.py | xargs rm", ["src/b.py"]),
        ("cat list.txt | grep -v b.py | xargs rm", ["src/a.py"]),
        ('while read -r f; do rm "$f"; done < list.txt', ["src/a.py", "src/b.py"]),
        ("cat list.txt | while read f; do echo > $f.bak; done", ["src/a.py.bak", "src/b.py.bak"]),
        ('mapfile -t a < list.txt; rm "${a[@]}"', ["src/a.py", "src/b.py"]),
        ('while read -r f; do rm "$f"; done < <(cat list.txt)', ["src/a.py", "src/b.py"]),
        ('while read -r f; do cat "$f"; done < <(cat list.txt)', []),
        ('mapfile -t a < <(ls src); rm "${a[@]}"', ["a.py", "b.py"]),
        ("xargs rm < <(cat list.txt)", ["src/a.py", "src/b.py"]),
        ("while read n f; do rm $f; done <<< '1 a'", ["a"]),
        ("rg --files src | xargs rm", ["src/**"]),
        ("echo x > $(realpath a); rm $(readlink -f b)", ["a", "b"]),
        ("for f in $(ls src); do rm src/$f; done", ["src/a.py", "src/b.py"]),
        ("ls src | xargs -I{} rm src/{}", ["src/a.py", "src/b.py"]),
        ("grep -rl x src | xargs sed -i s/a/b/", ["src/a.py"]),
        ("sed -i s/a/b/ `grep -l x src/*`", ["src/a.py"]),
        ("git grep -l x | xargs rm", ["src/a.py"]),
        ("git ls-files src | xargs rm", ["src/**"]),
        ("git ls-files '*.py' | xargs rm", ["**/*.py"]),
        ("find src -type f | xargs rm", ["src/**"]),
        ("find src -type d | xargs chmod 700", []),
        ("find src -newer x | xargs rm", []),
        ("echo x > $(dirname src/a.py)/$(basename /x/b.py)", ["src/b.py"]),
        ("sh -c 'rm \"$1\"' sh a; bash -c 'rm \"$@\"' - b c", ["a", "b", "c"]),
        ('set -- a b; rm "$2"', ["b"]),
        ("trap 'rm a' EXIT", ["a"]),
        ("parallel rm ::: a b", ["a", "b"]),
        ("parallel 'echo x > {}' ::: a b", ["a", "b"]),
        ("bash -s -- a <<'E'\nrm \"$1\"\nE", ["a"]),
        ("git -c alias.z='checkout --' z a", ["a"]),
    ],
)  # fmt: skip
def test_names_on_disk_are_found(command, wanted):
    assert seen(command) == wanted


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("grep -l a.b *", r"a.b"),
        ("grep -lF a.b *", r"a\.b"),
        ("grep -lE 'a|b+' *", r"a|b+"),
        (r"grep -l 'a\|b+' *", r"a|b\+"),
        ("grep -lw a *", r"\b(?:a)\b"),
    ],
)
def test_a_search_uses_greps_pattern(command, wanted):
    disk = FakeDisk()
    writes(f"{command} | xargs rm", "/r", disk=disk)

    assert disk.asked[0][2].pattern == wanted


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a*)*", "a*b*c*d*e*f*", r"\(a\)\1"])
def test_a_pattern_that_may_take_long_is_not_searched_for(pattern):
    disk = FakeDisk()
    found = writes(f"grep -lE '{pattern}' * | xargs rm", "/r", disk=disk)

    assert not disk.asked
    assert found.unsure


PYTHON = [
    ("(Path('a') / 'b').write_text('x')", ["a/b"]),
    ("open(os.path.join('a', 'b'), 'w')", ["a/b"]),
    ("d = 'a'; open(f'{d}/b', 'w')", ["a/b"]),
    ("for n in ('b', 'c'): open('a/' + n, 'a')", ["a/b", "a/c"]),
    ("[p.unlink() for p in Path('a').glob('*.x')]", ["a/*.x"]),
    ("os.chdir('a'); open('b', mode='w')", ["a/b"]),
    ("open(sys.argv[1], 'w')", ["arg"]),
    ("os.close(os.open('a', os.O_WRONLY))", ["a"]),
    ("os.open('a', os.O_RDONLY)", []),
    ("x = 'a'.replace('a', 'b'); [1].remove(1); {}.copy()", []),
    ("print(open('a').read(), Path('b').read_text())", []),
    ("tarfile.open('a.tar').extractall('d')", ["d/src/a.py", "d/top.txt"]),
]


@pytest.mark.parametrize(("code", "wanted"), PYTHON)
def test_constant_paths_of_a_python_program_are_found(code, wanted):
    assert seen(f'python3 -c "{code}" arg') == wanted


@pytest.mark.parametrize(
    ("code", "wanted"),
    [
        ("require('fs').rmSync('a' + '/b')", ["a/b"]),
        ("const {rmSync} = require('fs'); rmSync('a')", ["a"]),
        ("fs.writeFileSync(path.join('a', 'b', 'c'), 'x')", ["a/b/c"]),
        ("fs.writeFileSync(['a', 'b'].join('/'), 'x')", ["a/b"]),
        ("for (const f of ['a', 'b']) fs.rmSync(f)", ["a", "b"]),
        ("fs.readFileSync(path.join('a', 'b'))", []),
    ],
)
def test_constant_paths_of_a_javascript_program_are_found(code, wanted):
    assert seen(f'node -e "{code}"') == wanted


def test_a_program_with_thousands_of_parts_does_not_raise():
    writes(f'python3 -c "open({"+".join(["1"] * 9000)}, 1)"', "/r")
    writes(f"python3 -c \"open({'+'.join(['chr(1)'] * 3000)}, 'w')\"", "/r")
    writes("python3 -c \"x = '\\d'; open('a', 'w')\"", "/r")
