"""The JSON contract: the fields of every value and every answer, for all surfaces.

A field is ``name`` or ``name:type``; the default type is string. ``?`` means that it may be null, ``*``
that it is a list, brackets that it may be missing, and ``+value`` includes that value's fields. A
``time`` is in seconds of Unix time, a ``span`` in seconds. A ``text``, ``word``, ``path``, or ``file``
may come from another agent and is fenced for an agent (a word or a path only if it is not plain).
``@key`` names the key of the value's author, ``field<key`` that of one field's author.

``shapes.schema`` parses it. It generates docs/reference/schema.json, parts of docs/reference/json.md,
and the schemas of the MCP tools; tests compare it with the commands' answers.
"""

from __future__ import annotations

#: The fields of each value.
VALUES = {
    "claim": (
        "@agent id pattern:path mode agent token:int expires_at:time? since:time ttl:span"
        " reason:text task:word"
    ),
    "held_claim": "@agent +claim expires_in:span asked_by:ask* while_running:bool",
    "ticket": (
        "@agent ticket:int place:int agent patterns:path* mode since:time gives_up_in:span"
        " reason:text task:word"
    ),
    "queued_ticket": "@agent +ticket blocked_by:conflict*",
    "conflict": (
        "@holder pattern:path held:path holder mode reason:text task:word since:time"
        " expires_in:span witness:path waiting:bool while_running:bool"
    ),
    "wait": "@agent agent waits_for:path holder",
    "left_work": "@agent path:path agent age:span lines:int salvage? tree:path view",
    "refusal": "@by decision by reason:text",
    "ask": (
        "@asker pattern:path holder asker note:text at:time until:time message? answer?"
        " answered:time? promised:time?"
    ),
    "lost": "@by pattern:path token:int why at:time by reason:text",
    "agent": (
        "@id id name:word role:word parent? host:word pid:int? started:time last_seen:time"
        " silent_for:span status:word model:word task:word context:number? claims:int guarded?"
        " ended"
    ),
    "token": ("id scope agent project folder:path created:time used:time? expires:time? kind"),
    "entry": "@agent seq:int at:time agent role:word kind summary:text details:any",
    "task": (
        "@created_by id:path file:path state holder? title:text agent:word? priority:word"
        " mode:word? artefacts:path* dependencies:path* created_at:time? created_by:word?"
        " assigned_at:time? started_at:time? completed_at:time? result:result? error:text?"
        " retries:int reason:text attempt:int token:int? doer? follow_up:path? version:int [ready:bool]"
        " [why:text*] [dependents:path*] [expires_in:span?] [archived:bool] [text:file]"
        " [moves:task_move*] [closed:closed_move*] [description:text*]"
    ),
    "task_move": "verb to needs*",
    "closed_move": "to why:text",
    "result": "summary:text artefacts:path* next:handoff?",
    "handoff": "agent:word title:text artefacts:path* notes:text*",
    "similar_task": "id:path other:path title:text share:number paths:path*",
    "similar_work": "@agent task:path? agent? title:text share:number paths:path*",
    "finding": "file:path line:int field:word code message:text fatal:bool",
    "purge": "folders:path* refs* contents:any kept* store owners*",
    "planned_change": "path:path act what* agents* hidden:bool note",
    "consent": "agent text",
    "committed_file": "path:path what?",
    "inherited": "@agent path:path agent? lines:int salvage?",
    "blocked": (
        "@holder path:path why holder? pattern:path? hint:text expires_in:span? reason:text?"
        " task:word? commit? landed:text* yours* while_running:bool lines:int"
    ),
    "decision": (
        "@asker id title:text rationale:text conflict:bool outcome asker role:word at:time"
        " decider:word decided_by? decided_at:time? reason:text<decided_by"
        " comments:comment* data:any"
    ),
    "crew_member": (
        "@agent agent role:word state parent? task:path? pid:int? since:time tree:path branch:path?"
        " restarts:int restart_at:time? cause:text tokens:int context:number? host:word"
    ),
    "crew_role": "name:word agent:word driver model:word limit:int worktree:bool",
    "crew_wait": "task:path why:text",
    "crew_crash": "at:time cause:text output:text tasks:path* claims:path* tree:path",
    "crew": (
        "up:bool paused:bool limit:int supervisor:bool roles:crew_role* members:crew_member*"
        " waiting:crew_wait*"
    ),
    "alert": (
        "@author id kind severity state subject:path text:text command:text agents* author? key:text"
        " at:time by? changed:time? reason:text<by"
    ),
    "undecided": "pending:int oldest_for:span?",
    "comment": "@by at:time by role:word text:text",
    "escalation": (
        "@asker decision outcome title:text asker holder patterns:path* wanted:path* ticket:int?"
        " at:time note:text"
    ),
    "sides": "open:bool holder:side asker:side queue:ticket*",
    "side": "@agent agent role:word? task:word? silent_for:span? [claims:held_claim*] [asks:ask*]",
    "message": (
        "@sender id at:time sender? role:word human:bool kind text:text to:word boxes*"
        " reply_to? data:any"
    ),
    "letter": "@sender +message read:time? briefed:time?",
    "group": "@by name:word members* roles:word* by at:time",
    "branch": (
        "@agent branch:word agent outcome code commit paths:path* outside:outside*"
        " conflicts:file_conflict* others:word* task:word notes:text* next:text [tests:test_run]"
    ),
    "outside": "@holder path:path why commit agent holder pattern:path expires_in:span hint:text",
    "file_conflict": "path:path kind hunks:int",
    "test_run": "how:text log:path tail:text*",
    "worktree": "agent path:path branch:word base slot:int made:time ready:bool",
    "holding": "kind count:int names:text*",
    "listed_worktree": (
        "agent:word path:path branch:word head made_by_dibs:bool missing:bool locked:bool"
        " wrong:text ready:bool held:holding* unpushed:int? committed_at:time? subject:text"
        " made:time? [orphaned:bool]"
    ),
    "removal": (
        "removed:bool worktree:worktree [salvage?] [branch_gone:bool] [notes:text*] [code]"
        " [held:holding*] [why:text]"
    ),
    "salvage": "id ref commit at:time subject:text ignored_in:path?",
    "party": "name:word path:path? branch:word? head dirty:int base:bool",
    "forecast_pair": "agents:word* files:forecast_file*",
    "forecast_file": "path:path kind note:text hunks:forecast_hunk*",
    "forecast_hunk": "lines:any* [sides:hunk_side*] [cut:bool]",
    "hunk_side": "text:text*",
    "unmergeable": "agents:word* why:text",
    "left_out": "party:word path:path? why:text",
    "changed_file": (
        "path:path what staged:bool unstaged:bool pattern:path? token:int? expires_in:span?"
        " shared_by* changed_by*"
    ),
    "changed_tree": "root:path branch:word agents:any* nobody:changed_file* idle:any* wrong:text",
    "holders": "path:path holders:held_claim* waiters:ticket*",
    "briefed_agent": (
        "@id id name:word role:word parent? status:word model:word task:word context:number?"
    ),
    "crew_state": (
        "@agent now:time agent agents:briefed_agent* claims:held_claim* queue:ticket*"
        " mail:message* decisions:decision* tasks:any activity:entry*"
    ),
    "file_owner": "@agent agent files:int",
    "file_node": (
        "path:path name:path folder:bool files:int bytes:int owners:file_owner* claims:int"
        " waiting:int contention:int conflicts:int changed:int missing:bool"
    ),
    "forecast_agents": "agents:word*",
    "project": "id name:path root:path",
    "job": (
        "id project:path name every:span running:bool hangs:bool runs:int failures:int last_run:time?"
        " duration:span last_error:text next_run:time"
    ),
    "lock_file": (
        "@agentId filePath:path agentId agentRole:word reason:text acquiredAt expiresAt projectId"
    ),
    "activity": (
        "@agentId id:int agentId agentRole:word actionType summary:text details:any timestamp"
        " projectId"
    ),
    "crew_alert": "id:int type severity message:text [agentId] timestamp projectId",
    "handler": (
        "name source events* runs:text state reason:text waiting:int position:int handled:int"
        " skipped:int dropped:int error:text failing:text failed_at:time?"
    ),
    "failing_handler": "project:path name failing:text",
    "checked_project": "+project ok:bool why:text",
    "error": "code message field? hint? retryable:bool request_id?",
    "timeline": (
        "project:word now:time since:time until:time known_since:time? complete_since:time"
        " truncated:bool entries:int claims:claim_span* waits:wait_span* agents:agent_span*"
        " tasks:task_span* marks:mark* series:time_series files:file_figures* work:agent_figures*"
        " totals:totals"
    ),
    "claim_span": (
        "@agent agent pattern:path mode token:int begin:time end:time? early:bool how by?"
        " reason:text task:word"
    ),
    "wait_span": (
        "@agent agent ticket:int patterns:path* mode begin:time end:time? how blocked_by*"
        " turn:time? standing:bool"
    ),
    "agent_span": (
        "@agent agent role:word parent? begin:time end:time? early:bool how by? last:time"
        " changes:agent_change*"
    ),
    "agent_change": "at:time status:word task:word",
    "task_span": "@agent task:path state agent:word? attempt:int begin:time end:time? early:bool",
    "mark": "@agent seq:int at:time agent by? kind group text:text paths:path* times:int",
    "time_series": (
        "begin:time step:span held:int* waiting:int* agents:int* denied:int* commits:int* tasks:int*"
        " overhead:number*"
    ),
    "file_figures": (
        "pattern:path agents:int claims:int held:span denied:int waits:int waited:span owners*"
    ),
    "agent_figures": (
        "agent role:word present:span claims:int held:span edits:int commits:int tasks:int denied:int"
        " waits:int waited:span overhead:number"
    ),
    "totals": (
        "agents:int claims:int waits:int waited:span longest_wait:span denied:int refused:int"
        " expired:int killed:int commits:int merges:int tasks:int edits:int present:span"
        " overhead:number"
    ),
}

#: The answer to taking a task: that of a claim, or why no task is available.
_TAKEN = (
    "outcome next* [token:int?] [claims:claim*] [conflicts:conflict*] [ticket:int] [ahead:int]"
    " [why] [cycle:wait*] [refused:refusal?] [inherited:left_work*] [task:task] [tasks:any*]"
)

_STATUS = (
    "now:time seq:int claims:held_claim* queue:queued_ticket* agents:agent* decisions:undecided"
)
#: The answer of each command with ``--json``, and of a failed one. ``=type`` is not an object.
ANSWERS = {
    "claim": (
        "outcome token:int? claims:claim* conflicts:conflict* next* [ticket:int] [ahead:int]"
        " [why] [cycle:wait*] [refused:refusal?] [inherited:left_work*] [warnings*]"
    ),
    "error": "error:error [outcome] [token:int?] [claims:claim*] [conflicts:conflict*] [next*]",
    "init": (
        "[root:path] [state:path] [engine] [created:bool] [dry_run:bool] [agents*] [found:any]"
        " [changes:planned_change*] [git_gates:bool] [notes*] [trust:consent*] [left:path*] [purged:purge]"
        " [set_aside:path]"
    ),
    "run": "status:int claims:claim* lost:lost* released:claim*",
    "work": (
        "[task:path] [outcome] [status:int?] [cause:text] [summary:text] [token:int] [attempt:int]"
        " [tasks:int] [done:int] [failed:int]"
    ),
    "renew": "outcome claims:claim* lost:lost* asks:ask*",
    "release": "released:claim* [left:left_work*]",
    "status": _STATUS,
    "top": _STATUS,
    "who": "paths:holders*",
    "changes": "trees:changed_tree*",
    "diff": "agent files:changed_file* diff:text",
    "check": "free:bool conflicts:conflict*",
    "ask": "asked:ask*",
    "answer": "answered:ask*",
    "escalate": "escalated:escalation*",
    "revoke": "revoked:claim*",
    "transfer": "transferred:claim*",
    "commit": (
        "outcome [commit?] [ref] [files:committed_file*] [unchanged:path*] [ignored:path*] [on_disk:path*]"
        " [nobody:committed_file*] [nobody_elsewhere:int] [others:blocked*] [released:claim*]"
        " [seq:int?] [repeated:bool] [late:bool] [included:inherited*] [code]"
        " [hook?] [blocked:blocked*]"
    ),
    "git check": "allowed:bool stopped:blocked*",
    "decide new": "decision:decision",
    "decide comment": "decision:decision",
    "decide withdraw": "decision:decision",
    "decide show": "decision:decision [sides:sides]",
    "decide ls": "decisions:decision* left:int",
    "decide confirm": "decided:decision*",
    "decide reject": "decided:decision*",
    "decide revoke": "decided:decision*",
    "decide refuse": "decided:decision*",
    "crew ls": "+crew",
    "crew up": "+crew",
    "crew scale": "+crew",
    "crew pause": "+crew",
    "crew resume": "+crew",
    "crew spawn": "member:crew_member",
    "crew stop": "stopped:crew_member*",
    "crew restart": "restarted:crew_member*",
    "crew show": "member:crew_member crashes:crew_crash* output:text",
    "crew logs": "agent text:text offset:int size:int file:int",
    "alerts ls": "alerts:alert*",
    "alerts show": "alert:alert",
    "alerts ack": "acknowledged:alert*",
    "alerts check": "opened:alert* raised:alert* resolved:alert* open:alert*",
    "brief": (
        "number:int? changed:bool again:bool mode? digest? text mail* left:int state:crew_state?"
    ),
    "say": "+message",
    "inbox": "[messages:letter*] [left:int]",
    "group new": "+group",
    "group add": "+group",
    "group rm": "+group",
    "group drop": "+group",
    "group ls": "groups:group*",
    "group show": "+group reaches* messages:message*",
    "task new": "[created:task*] [would_create:task*] similar:similar_task*",
    "task take": _TAKEN,
    "task start": _TAKEN,
    "task done": "[done:task] [similar:similar_task*] [released:claim*]",
    "task fail": "[failed:task] [released:claim*]",
    "task release": "released:task",
    "task retry": "retry:task",
    "task reopen": "reopen:task",
    "task cancel": "cancel:task",
    "task block": "block:task",
    "task reassign": "reassign:task similar:similar_task*",
    "task ls": "tasks:any* done:int set_aside:finding* [stale:text]",
    "task show": "task:task log:entry*",
    "task graph": (
        "tasks:any* ready:path* waves:any* never:path* cycles:any* critical_path:path* width:int"
        " width_exact:bool"
    ),
    "task validate": "files:int wrong:int findings:finding*",
    "delegate": "outcome task:task? told* [ended*] [similar:similar_work*] [next*]",
    "merge": "into old new tree:path branches:branch* notes:text*",
    "agent ls": "agents:agent*",
    "agent show": "agent:agent claims:held_claim* queue:ticket* lost:lost*",
    "agent join": "agent:agent",
    "agent report": "agent:agent",
    "agent beat": "outcome claims:claim* lost:lost* asks:ask*",
    "agent leave": "agent released:claim*",
    "agent stop": "stopped*",
    "log": "=entry*",
    "worktree new": "worktree:worktree? new:bool notes:text* [path:path] [shared:bool] [reason:text] [code]",
    "worktree ls": "worktrees:listed_worktree*",
    "worktree env": "=any",
    "worktree setup": "worktree:worktree",
    "worktree rm": "+removal",
    "worktree gc": "worktrees:removal*",
    "salvage ls": "salvaged:salvage*",
    "salvage show": "+salvage message:text head changes:any*",
    "salvage restore": "+salvage [folder:path] [branch]",
    "forecast": (
        "base parties:party* conflicts:forecast_pair* cannot_merge:unmergeable*"
        " left_out:left_out* compared:int met:int merged:int"
    ),
    "orchestrate": (
        "assigned:path* followups:path* timeouts:any* conflicts:any* archived:path*"
        " returned:path* set_aside:finding* troubles:any* accepted:path* restored:path*"
        " commits:text* left:text unpushed:text"
    ),
    "doctor": "well:bool findings:any* agents:any* crew:any* [done:text*] [proofs:any*]",
    "engine check": "engine safe:bool findings:any* measured:any",
    "engine use": "engine used:bool",
    "git install": "installed:bool hooks:any* store works:bool",
    "git status": "installed:bool hooks:any* store works:bool",
    "git uninstall": "removed:bool left:path*",
    "serve": (
        "running:bool pid:int? url? socket:path? version? started:number? auto:bool?"
        " [failing:failing_handler*]"
    ),
    "open": "url:text expires:time project opened:bool started:bool",
    "token ls": "tokens:token*",
    "token new": "token +token",
    "token revoke": "+token",
    "token login": "url:text expires:time",
    "report": "+timeline [written:path*]",
    "config": "settings:any root:path state:path",
    "whoami": (
        "agent human:bool source value role? registered:bool project:path? doubt considered:any* [scope]"
        " [expires:time?]"
    ),
    "help": "[groups:any*] [command:any]",
    "explain": "a:path b:path overlap:bool witness:path?",
}
