"""Commands that try to write outside of an agent's own worktree, one per line.

They run in ``{mine}``, the agent's worktree. ``{root}`` is the main working tree, ``{other}`` the worktree of
another agent, ``{home}`` the home folder, ``{git}`` the common git directory, and ``{outside}`` a process of
the test.
"""

#: Each of these changes something that is protected, unless a sandbox prevents it.
WRITES = r"""
echo x > {root}/a.txt
echo x >> {other}/a.txt
: > {root}/new.txt
echo x | tee -a {root}/src/a.py
sed -i s/a/b/ {root}/src/a.py
perl -pi -e s/a/b/ {root}/src/a.py
dd if=/dev/zero of={root}/src/a.py count=1 conv=notrunc
truncate -s0 {root}/src/a.py
truncate -s0 {other}/src/a.py
cp {mine}/b.txt {root}/a.txt
cp -r {mine}/src {root}/copy
install -m 644 {mine}/b.txt {root}/a.txt
mv {mine}/b.txt {root}/a.txt
mv {root}/a.txt {mine}/taken
mv {root}/a.txt {root}/c.txt
mv {root}/src {home}/taken
mv {root} {root}.gone
mv {other} {mine}/taken
mv {home}/src {home}/moved
ln -sf /etc/hosts {root}/a.txt
ln -s /etc/hosts {root}/link
ln {root}/a.txt {mine}/hard && echo x >> {mine}/hard
ln {root}/a.txt {home}/hard && echo x >> {home}/hard
ln {other}/a.txt {home}/hard2 && echo x >> {home}/hard2
ln -s {root}/a.txt {mine}/soft && echo x >> {mine}/soft
ln -s {root} {mine}/tree && echo x > {mine}/tree/a.txt
cd {mine} && ln -s ../../repo up && rm up/a.txt
rm {root}/a.txt
rm -rf {root}/src
rm -rf {root}
rm -rf {other}
find {root} -name a.py -delete
mkdir {root}/folder
rmdir {root}/empty
mkfifo {root}/pipe
mknod {root}/fifo p
touch {root}/touched
tar -C {mine} -cf - src | tar -C {root}/empty -xf -
tar -cf {root}/out.tar -C {mine} src
rsync -a {mine}/src/ {root}/empty/ || cp -r {mine}/src {root}/empty/
patch -d {root} -p1 < {mine}/fix.patch
python3 -c "open('{root}/a.txt', 'w').write('x')"
python3 -c "import os; os.truncate('{root}/a.txt', 0)"
python3 -c "import os; os.replace('{mine}/b.txt', '{root}/a.txt')"
python3 -c "import os; d = os.open('{root}', 0); os.unlink('a.txt', dir_fd=d)"
python3 -c "import os; d = os.open('{root}', os.O_PATH); open(f'/proc/self/fd/{{d}}/a.txt', 'w').write('x')"
python3 -c "f = open('{root}/a.txt'); open(f'/proc/self/fd/{{f.fileno()}}', 'w').write('x')"
python3 -c "import socket; socket.socket(socket.AF_UNIX).bind('{root}/s')"
python3 -c "import shutil; shutil.copytree('{mine}/src', '{root}/tree')"
perl -e 'open(F, ">", "{root}/a.txt"); print F "x"'
echo x > /proc/self/root{root}/a.txt
echo x > /proc/$$/root{root}/a.txt
cd {root} && echo x > /proc/self/cwd/a.txt
(cd {other} && echo x > a.txt)
setsid -w sh -c 'echo x > {root}/a.txt'
nohup sh -c 'echo x > {root}/a.txt' & wait
git -C {root} checkout -q older -- .
git -C {root} checkout -q older
git -C {root} restore --source older .
git -C {root} switch -q -c new
git -C {root} switch -q --detach older
git -C {root} reset -q --hard older
git -C {root} clean -fdxq
git -C {root} stash
git -C {root} rm -q a.txt
git -C {root} mv a.txt c.txt
git -C {root} apply {mine}/fix.patch
git -C {root} add untracked
git -C {root} commit -q -am x
git -C {root} merge -q side
git -C {root} cherry-pick side
git -C {root} rebase -q --autostash side
git -C {root} symbolic-ref HEAD refs/heads/side
git -C {other} checkout -q older
git -C {other} reset -q --hard older
git -C {other} rm -q --cached a.txt
git --git-dir={git} --work-tree={root} checkout -q older -- .
git --git-dir={git} --work-tree={root} checkout-index -f --prefix={root}/out/ a.txt
git --git-dir={git}/worktrees/other --work-tree={other} checkout -q older -- .
GIT_DIR={git} GIT_WORK_TREE={root} git reset -q --hard older
GIT_INDEX_FILE={git}/index git read-tree older
git archive -o {root}/out.tar HEAD
git worktree remove --force {other}
git worktree add -q {root}/inner older
git worktree lock {other}
git config core.hooksPath {mine}/hooks
git config --file {git}/config core.fsmonitor {mine}/evil
git config core.fsmonitor {mine}/evil
git -C {root} config alias.st '!{mine}/evil'
git remote add evil ext::sh
echo 'exit 0' > {git}/hooks/pre-commit
sed -i 's/sandbox = true/sandbox = false/' {git}/dibs-crew/crew.toml
rm -rf {git}/dibs-crew
echo 'exit 0' > {git}/hooks/post-checkout
rm -f {git}/hooks/pre-commit
chmod +x {git}/hooks && mv {git}/hooks {git}/hooks.old
rm -rf {git}/hooks && mkdir {git}/hooks
ln -sfn {mine} {git}/hooks/inner
echo '[core]' >> {git}/config
mv {git}/config {git}/config.old
echo {mine} > {git}/commondir
echo x > {git}/config.worktree
echo x > {git}/HEAD
echo x > {git}/index
: > {git}/index.lock
rm -f {git}/index
echo 'a.txt filter=x' >> {git}/info/attributes
mkdir {git}/rebase-merge && echo 'exec evil' > {git}/rebase-merge/git-rebase-todo
echo x > {git}/worktrees/other/HEAD
rm -f {git}/worktrees/other/index
: > {git}/worktrees/other/index.lock
echo {mine} > {git}/worktrees/other/commondir
mv {git}/worktrees/other {git}/worktrees/gone
mkdir {git}/worktrees/third
rm -rf {git}/worktrees
mv {git} {git}.old
"""

#: These need privileges or a certain kernel, so not all of them work without a sandbox.
ESCAPES = r"""
mount -o remount,rw /
mount -o remount,rw,bind {root}
mount -o remount,bind,rw {root} {root}
umount {root}
umount -l {root}
mount --bind {mine} {root}
mount --bind {home} {home}/.cache && echo x > {home}/.cache/src/repo/a.txt
unshare -Um sh -c 'mount -o remount,rw,bind {root}; echo x > {root}/a.txt'
unshare -Um sh -c 'umount {root}; echo x > {root}/a.txt'
unshare -Um sh -c 'umount -l {root}; echo x > {root}/a.txt'
unshare -Um sh -c 'mount --bind {home} {home}/.cache; echo x > {home}/.cache/src/repo/a.txt'
unshare -Urm sh -c 'umount -R {root}; mount --rbind {home} /mnt; echo x > /mnt/src/repo/a.txt'
unshare -m sh -c 'umount {root}; echo x > {root}/a.txt'
nsenter -t $PPID -m sh -c 'echo x > {root}/a.txt'
nsenter -t {outside} -m sh -c 'echo x > {root}/a.txt'
nsenter -t {outside} -U -m --preserve-credentials sh -c 'echo x > {root}/a.txt'
echo x > /proc/{outside}/root{root}/a.txt
echo x > /proc/{outside}/cwd/a.txt
chroot / sh -c 'echo x > {root}/a.txt'
sudo -n sh -c 'echo x > {root}/a.txt'
su -c 'echo x > {root}/a.txt'
systemd-run --user --pipe sh -c 'echo x > {root}/a.txt'
systemd-run --pipe sh -c 'echo x > {root}/a.txt'
bwrap --bind / / sh -c 'echo x > {root}/a.txt'
bwrap --dev-bind / / --bind {root} {root} sh -c 'echo x > {root}/a.txt'
for d in /dev/*; do [ -b $d ] && : >> $d && touch {home}/.cache/escaped; done
gdb -p {outside} -batch -ex 'call (int)unlink("{root}/a.txt")'
: >> /proc/sys/kernel/core_pattern && touch {home}/.cache/escaped
: >> /proc/sysrq-trigger && touch {home}/.cache/escaped
"""

#: Landlock cannot protect these, because they are in writable folders.
PINNED = r"""
rm {mine}/.git
mv {mine}/.git {mine}/git
mv {mine} {mine}.gone
echo gitdir: {mine}/git > {mine}/.git
echo {mine} > {git}/worktrees/mine/commondir
echo {mine} > {git}/worktrees/mine/gitdir
rm {git}/worktrees/mine/commondir
rm -rf {git}/worktrees/mine
git config --worktree core.fsmonitor {mine}/evil
git config --global core.hooksPath {mine}/hooks
git config --global --add include.path {mine}/settings
echo x >> {home}/.bashrc
rm {home}/.bashrc
mv {home}/.config {home}/old
echo x >> {home}/.config/git/config
echo x > {home}/.ssh/authorized_keys
"""

#: Landlock does not restrict these: they change no content.
MODES = r"""
chmod 777 {root}/a.txt
chmod 700 {other}/src
touch -d 2000-01-01 {root}/a.txt
"""
