#!/usr/bin/env bash
# Run one agent in its own clone until the queue is empty:
# take a task, run a command, push what it did, finish the task.
#
# usage: entrypoint.sh COMMAND [ARGUMENT...]
#
# The command runs in the clone with DIBS_TASK, the task's name. What it leaves uncommitted is committed.
# Work that cannot be pushed to the branch is pushed to the branch unfinished/TASK-AGENT-TIME instead.
set -euo pipefail

REPO_URL="${REPO_URL:?set it to the repository that all agents share}"
WORKSPACE="${WORKSPACE:-/workspace/shared-repo}"
export DIBS_AGENT="${DIBS_AGENT:-${AGENT_ID:-$HOSTNAME}}"
WAIT="${WAIT:-5m}"
TRIES="${TRIES:-20}"
EMPTY=6 HELD=3
READ='import json, sys; t = json.load(sys.stdin); print(t["task"]["id"], t["claims"][0]["pattern"], sep="\n")'

task=""
claim=""
child=""

say() {
  printf '%s: %s\n' "$DIBS_AGENT" "$*"
}

# Clone next to the workspace first: a container that is killed leaves no half a clone behind.
clone() {
  if [ ! -d "$WORKSPACE/.git" ]; then
    local fresh="$WORKSPACE.$$"
    rm -rf -- "$fresh"
    mkdir -p -- "$(dirname -- "$WORKSPACE")"
    git clone --quiet -- "$REPO_URL" "$fresh"
    mv -- "$fresh" "$WORKSPACE"
  fi
  cd -- "$WORKSPACE"
  git config user.name > /dev/null || git config user.name "$DIBS_AGENT"
  git config user.email > /dev/null || git config user.email "$DIBS_AGENT@localhost"
  BRANCH="${BRANCH:-$(git branch --show-current)}"
}

# Commit what the command left; this clone belongs to this agent alone.
commit_rest() {
  git add --all
  git diff --cached --quiet || git commit --quiet --message "$1"
}

# Push the commits to the branch. Other pushes only mean another try; a conflict is a failure.
publish() {
  local try
  for ((try = 0; try < TRIES; try++)); do
    git fetch --quiet origin "$BRANCH"
    if ! git rebase --quiet FETCH_HEAD; then
      git rebase --abort
      return 1
    fi
    if git push --quiet origin "HEAD:refs/heads/$BRANCH"; then
      return 0
    fi
    sleep "0.$((RANDOM % 10))"
  done
  return 1
}

# Keep work that is not on the branch where people find it, then continue from the branch.
set_aside() {
  local name
  name="$1-$DIBS_AGENT-$(date -u +%Y%m%dT%H%M%SZ)"
  name="unfinished/${name//[^A-Za-z0-9_-]/-}"
  git rebase --abort 2> /dev/null || true
  git fetch --quiet origin "$BRANCH"
  commit_rest "unfinished: $1"
  if [ -n "$(git rev-list --max-count=1 FETCH_HEAD..HEAD)" ]; then
    git push --quiet origin "HEAD:refs/heads/$name"
    say "pushed unfinished work to $name"
  fi
  git reset --quiet --hard FETCH_HEAD
}

# `docker stop` sends SIGTERM: stop the command, keep its work, and release the task.
stop() {
  trap '' TERM INT
  say "stopping"
  if [ -n "$child" ]; then
    kill -TERM "$child" 2> /dev/null || true
    wait "$child" || true
  fi
  if [ -n "$task" ]; then
    set_aside "$task"
    dibs task release -- "$task"
  fi
  exit 143
}

# Run the command while `dibs run` renews the task; it stops the command if the task is lost.
attempt() {
  local status=0
  DIBS_TASK="$task" dibs run --claim "$claim" --reason "$1" -- "$@" &
  child=$!
  wait "$child" || status=$?
  child=""
  return "$status"
}

finish() {
  commit_rest "$task"
  if publish; then
    dibs task "done" -- "$task" || say "$task expired before it was finished"
  else
    give_up "its changes conflict with $BRANCH"
  fi
}

give_up() {
  set_aside "$task"
  dibs task fail --message "$1" -- "$task" || say "$task expired before it failed"
}

clone
trap stop TERM INT
set_aside "restart"
dibs task release 2> /dev/null || true # this container was killed while it held a task

while true; do
  status=0
  taken=$(dibs task take --json --wait "$WAIT") || status=$?
  case "$status" in
    0) ;;
    "$EMPTY") say "the queue is empty" && exit 0 ;;
    "$HELD") continue ;;
    *) exit "$status" ;;
  esac
  { IFS= read -r task && IFS= read -r claim; } < <(python3 -c "$READ" <<< "$taken")
  say "took $task"
  git fetch --quiet origin "$BRANCH"
  git reset --quiet --hard FETCH_HEAD

  status=0
  attempt "$@" || status=$?
  if [ "$status" -eq 0 ]; then
    finish
  else
    give_up "$1 ended with status $status"
  fi
  task=""
done
