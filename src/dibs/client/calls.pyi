# scripts/client.py generates this file.
from builtins import list as Many  # some classes have a method list
from collections.abc import Callable
from typing import Any, NotRequired, TypeAlias, TypedDict

Send: TypeAlias = Callable[[str, str, dict[str, Any]], Any]

class ClaimData(TypedDict):
    id: str
    pattern: str
    mode: str
    agent: str
    token: int
    expires_at: float | None
    since: float
    ttl: float
    reason: str
    task: str

class HeldClaimData(TypedDict):
    id: str
    pattern: str
    mode: str
    agent: str
    token: int
    expires_at: float | None
    since: float
    ttl: float
    reason: str
    task: str
    expires_in: float
    asked_by: Many[AskData]
    while_running: bool

class TicketData(TypedDict):
    ticket: int
    place: int
    agent: str
    patterns: Many[str]
    mode: str
    since: float
    gives_up_in: float
    reason: str
    task: str

class QueuedTicketData(TypedDict):
    ticket: int
    place: int
    agent: str
    patterns: Many[str]
    mode: str
    since: float
    gives_up_in: float
    reason: str
    task: str
    blocked_by: Many[ConflictData]

class ConflictData(TypedDict):
    pattern: str
    held: str
    holder: str
    mode: str
    reason: str
    task: str
    since: float
    expires_in: float
    witness: str
    waiting: bool
    while_running: bool

class WaitData(TypedDict):
    agent: str
    waits_for: str
    holder: str

class LeftWorkData(TypedDict):
    path: str
    agent: str
    age: float
    lines: int
    salvage: str | None
    tree: str
    view: str

class RefusalData(TypedDict):
    decision: str
    by: str
    reason: str

class AskData(TypedDict):
    pattern: str
    holder: str
    asker: str
    note: str
    at: float
    until: float
    message: str | None
    answer: str | None
    answered: float | None
    promised: float | None

class LostData(TypedDict):
    pattern: str
    token: int
    why: str
    at: float
    by: str
    reason: str

class AgentData(TypedDict):
    id: str
    name: str
    role: str
    parent: str | None
    host: str
    pid: int | None
    started: float
    last_seen: float
    silent_for: float
    status: str
    model: str
    task: str
    context: float | None
    claims: int
    guarded: str | None
    ended: str

class TokenData(TypedDict):
    id: str
    scope: str
    agent: str
    project: str
    folder: str
    created: float
    used: float | None
    expires: float | None
    kind: str

class EntryData(TypedDict):
    seq: int
    at: float
    agent: str
    role: str
    kind: str
    summary: str
    details: Any

class TaskData(TypedDict):
    id: str
    file: str
    state: str
    holder: str | None
    title: str
    agent: str | None
    priority: str
    mode: str | None
    artefacts: Many[str]
    dependencies: Many[str]
    created_at: float | None
    created_by: str | None
    assigned_at: float | None
    started_at: float | None
    completed_at: float | None
    result: ResultData | None
    error: str | None
    retries: int
    reason: str
    attempt: int
    token: int | None
    doer: str | None
    follow_up: str | None
    version: int
    ready: NotRequired[bool]
    why: NotRequired[Many[str]]
    dependents: NotRequired[Many[str]]
    expires_in: NotRequired[float | None]
    archived: NotRequired[bool]
    text: NotRequired[str]
    moves: NotRequired[Many[TaskMoveData]]
    closed: NotRequired[Many[ClosedMoveData]]
    description: NotRequired[Many[str]]

class TaskMoveData(TypedDict):
    verb: str
    to: str
    needs: Many[str]

class ClosedMoveData(TypedDict):
    to: str
    why: str

class ResultData(TypedDict):
    summary: str
    artefacts: Many[str]
    next: HandoffData | None

class HandoffData(TypedDict):
    agent: str
    title: str
    artefacts: Many[str]
    notes: Many[str]

class SimilarTaskData(TypedDict):
    id: str
    other: str
    title: str
    share: float
    paths: Many[str]

class SimilarWorkData(TypedDict):
    task: str | None
    agent: str | None
    title: str
    share: float
    paths: Many[str]

class FindingData(TypedDict):
    file: str
    line: int
    field: str
    code: str
    message: str
    fatal: bool

class PurgeData(TypedDict):
    folders: Many[str]
    refs: Many[str]
    contents: Any
    kept: Many[str]
    store: str
    owners: Many[str]

class PlannedChangeData(TypedDict):
    path: str
    act: str
    what: Many[str]
    agents: Many[str]
    hidden: bool
    note: str

class ConsentData(TypedDict):
    agent: str
    text: str

class CommittedFileData(TypedDict):
    path: str
    what: str | None

class InheritedData(TypedDict):
    path: str
    agent: str | None
    lines: int
    salvage: str | None

class BlockedData(TypedDict):
    path: str
    why: str
    holder: str | None
    pattern: str | None
    hint: str
    expires_in: float | None
    reason: str | None
    task: str | None
    commit: str | None
    landed: Many[str]
    yours: Many[str]
    while_running: bool
    lines: int

class DecisionData(TypedDict):
    id: str
    title: str
    rationale: str
    conflict: bool
    outcome: str
    asker: str
    role: str
    at: float
    decider: str
    decided_by: str | None
    decided_at: float | None
    reason: str
    comments: Many[CommentData]
    data: Any

class CrewMemberData(TypedDict):
    agent: str
    role: str
    state: str
    parent: str | None
    task: str | None
    pid: int | None
    since: float
    tree: str
    branch: str | None
    restarts: int
    restart_at: float | None
    cause: str
    tokens: int
    context: float | None
    host: str

class CrewRoleData(TypedDict):
    name: str
    agent: str
    driver: str
    model: str
    limit: int
    worktree: bool

class CrewWaitData(TypedDict):
    task: str
    why: str

class CrewCrashData(TypedDict):
    at: float
    cause: str
    output: str
    tasks: Many[str]
    claims: Many[str]
    tree: str

class CrewData(TypedDict):
    up: bool
    paused: bool
    limit: int
    supervisor: bool
    roles: Many[CrewRoleData]
    members: Many[CrewMemberData]
    waiting: Many[CrewWaitData]

class AlertData(TypedDict):
    id: str
    kind: str
    severity: str
    state: str
    subject: str
    text: str
    command: str
    agents: Many[str]
    author: str | None
    key: str
    at: float
    by: str | None
    changed: float | None
    reason: str

class UndecidedData(TypedDict):
    pending: int
    oldest_for: float | None

class CommentData(TypedDict):
    at: float
    by: str
    role: str
    text: str

class EscalationData(TypedDict):
    decision: str
    outcome: str
    title: str
    asker: str
    holder: str
    patterns: Many[str]
    wanted: Many[str]
    ticket: int | None
    at: float
    note: str

class SidesData(TypedDict):
    open: bool
    holder: SideData
    asker: SideData
    queue: Many[TicketData]

class SideData(TypedDict):
    agent: str
    role: str | None
    task: str | None
    silent_for: float | None
    claims: NotRequired[Many[HeldClaimData]]
    asks: NotRequired[Many[AskData]]

class MessageData(TypedDict):
    id: str
    at: float
    sender: str | None
    role: str
    human: bool
    kind: str
    text: str
    to: str
    boxes: Many[str]
    reply_to: str | None
    data: Any

class LetterData(TypedDict):
    id: str
    at: float
    sender: str | None
    role: str
    human: bool
    kind: str
    text: str
    to: str
    boxes: Many[str]
    reply_to: str | None
    data: Any
    read: float | None
    briefed: float | None

class GroupData(TypedDict):
    name: str
    members: Many[str]
    roles: Many[str]
    by: str
    at: float

class BranchData(TypedDict):
    branch: str
    agent: str
    outcome: str
    code: str
    commit: str
    paths: Many[str]
    outside: Many[OutsideData]
    conflicts: Many[FileConflictData]
    others: Many[str]
    task: str
    notes: Many[str]
    next: str
    tests: NotRequired[TestRunData]

class OutsideData(TypedDict):
    path: str
    why: str
    commit: str
    agent: str
    holder: str
    pattern: str
    expires_in: float
    hint: str

class FileConflictData(TypedDict):
    path: str
    kind: str
    hunks: int

class TestRunData(TypedDict):
    how: str
    log: str
    tail: Many[str]

class WorktreeData(TypedDict):
    agent: str
    path: str
    branch: str
    base: str
    slot: int
    made: float
    ready: bool

class HoldingData(TypedDict):
    kind: str
    count: int
    names: Many[str]

class ListedWorktreeData(TypedDict):
    agent: str
    path: str
    branch: str
    head: str
    made_by_dibs: bool
    missing: bool
    locked: bool
    wrong: str
    ready: bool
    held: Many[HoldingData]
    unpushed: int | None
    committed_at: float | None
    subject: str
    made: float | None
    orphaned: NotRequired[bool]

class RemovalData(TypedDict):
    removed: bool
    worktree: WorktreeData
    salvage: NotRequired[str | None]
    branch_gone: NotRequired[bool]
    notes: NotRequired[Many[str]]
    code: NotRequired[str]
    held: NotRequired[Many[HoldingData]]
    why: NotRequired[str]

class SalvageData(TypedDict):
    id: str
    ref: str
    commit: str
    at: float
    subject: str
    ignored_in: str | None

class PartyData(TypedDict):
    name: str
    path: str | None
    branch: str | None
    head: str
    dirty: int
    base: bool

class ForecastPairData(TypedDict):
    agents: Many[str]
    files: Many[ForecastFileData]

class ForecastFileData(TypedDict):
    path: str
    kind: str
    note: str
    hunks: Many[ForecastHunkData]

class ForecastHunkData(TypedDict):
    lines: Many[Any]
    sides: NotRequired[Many[HunkSideData]]
    cut: NotRequired[bool]

class HunkSideData(TypedDict):
    text: Many[str]

class UnmergeableData(TypedDict):
    agents: Many[str]
    why: str

class LeftOutData(TypedDict):
    party: str
    path: str | None
    why: str

class ChangedFileData(TypedDict):
    path: str
    what: str
    staged: bool
    unstaged: bool
    pattern: str | None
    token: int | None
    expires_in: float | None
    shared_by: Many[str]
    changed_by: Many[str]

class ChangedTreeData(TypedDict):
    root: str
    branch: str
    agents: Many[Any]
    nobody: Many[ChangedFileData]
    idle: Many[Any]
    wrong: str

class HoldersData(TypedDict):
    path: str
    holders: Many[HeldClaimData]
    waiters: Many[TicketData]

class BriefedAgentData(TypedDict):
    id: str
    name: str
    role: str
    parent: str | None
    status: str
    model: str
    task: str
    context: float | None

class CrewStateData(TypedDict):
    now: float
    agent: str
    agents: Many[BriefedAgentData]
    claims: Many[HeldClaimData]
    queue: Many[TicketData]
    mail: Many[MessageData]
    decisions: Many[DecisionData]
    tasks: Any
    activity: Many[EntryData]

class FileOwnerData(TypedDict):
    agent: str
    files: int

class FileNodeData(TypedDict):
    path: str
    name: str
    folder: bool
    files: int
    bytes: int
    owners: Many[FileOwnerData]
    claims: int
    waiting: int
    contention: int
    conflicts: int
    changed: int
    missing: bool

class ForecastAgentsData(TypedDict):
    agents: Many[str]

class ProjectData(TypedDict):
    id: str
    name: str
    root: str

class JobData(TypedDict):
    id: str
    project: str
    name: str
    every: float
    running: bool
    hangs: bool
    runs: int
    failures: int
    last_run: float | None
    duration: float
    last_error: str
    next_run: float

class LockFileData(TypedDict):
    filePath: str
    agentId: str
    agentRole: str
    reason: str
    acquiredAt: str
    expiresAt: str
    projectId: str

class ActivityData(TypedDict):
    id: int
    agentId: str
    agentRole: str
    actionType: str
    summary: str
    details: Any
    timestamp: str
    projectId: str

class CrewAlertData(TypedDict):
    id: int
    type: str
    severity: str
    message: str
    agentId: NotRequired[str]
    timestamp: str
    projectId: str

class HandlerData(TypedDict):
    name: str
    source: str
    events: Many[str]
    runs: str
    state: str
    reason: str
    waiting: int
    position: int
    handled: int
    skipped: int
    dropped: int
    error: str
    failing: str
    failed_at: float | None

class FailingHandlerData(TypedDict):
    project: str
    name: str
    failing: str

class CheckedProjectData(TypedDict):
    id: str
    name: str
    root: str
    ok: bool
    why: str

class ErrorData(TypedDict):
    code: str
    message: str
    field: str | None
    hint: str | None
    retryable: bool
    request_id: str | None

class TimelineData(TypedDict):
    project: str
    now: float
    since: float
    until: float
    known_since: float | None
    complete_since: float
    truncated: bool
    entries: int
    claims: Many[ClaimSpanData]
    waits: Many[WaitSpanData]
    agents: Many[AgentSpanData]
    tasks: Many[TaskSpanData]
    marks: Many[MarkData]
    series: TimeSeriesData
    files: Many[FileFiguresData]
    work: Many[AgentFiguresData]
    totals: TotalsData

class ClaimSpanData(TypedDict):
    agent: str
    pattern: str
    mode: str
    token: int
    begin: float
    end: float | None
    early: bool
    how: str
    by: str | None
    reason: str
    task: str

class WaitSpanData(TypedDict):
    agent: str
    ticket: int
    patterns: Many[str]
    mode: str
    begin: float
    end: float | None
    how: str
    blocked_by: Many[str]
    turn: float | None
    standing: bool

class AgentSpanData(TypedDict):
    agent: str
    role: str
    parent: str | None
    begin: float
    end: float | None
    early: bool
    how: str
    by: str | None
    last: float
    changes: Many[AgentChangeData]

class AgentChangeData(TypedDict):
    at: float
    status: str
    task: str

class TaskSpanData(TypedDict):
    task: str
    state: str
    agent: str | None
    attempt: int
    begin: float
    end: float | None
    early: bool

class MarkData(TypedDict):
    seq: int
    at: float
    agent: str
    by: str | None
    kind: str
    group: str
    text: str
    paths: Many[str]
    times: int

class TimeSeriesData(TypedDict):
    begin: float
    step: float
    held: Many[int]
    waiting: Many[int]
    agents: Many[int]
    denied: Many[int]
    commits: Many[int]
    tasks: Many[int]
    overhead: Many[float]

class FileFiguresData(TypedDict):
    pattern: str
    agents: int
    claims: int
    held: float
    denied: int
    waits: int
    waited: float
    owners: Many[str]

class AgentFiguresData(TypedDict):
    agent: str
    role: str
    present: float
    claims: int
    held: float
    edits: int
    commits: int
    tasks: int
    denied: int
    waits: int
    waited: float
    overhead: float

class TotalsData(TypedDict):
    agents: int
    claims: int
    waits: int
    waited: float
    longest_wait: float
    denied: int
    refused: int
    expired: int
    killed: int
    commits: int
    merges: int
    tasks: int
    edits: int
    present: float
    overhead: float

class ClaimAnswer(TypedDict):
    outcome: str
    token: int | None
    claims: Many[ClaimData]
    conflicts: Many[ConflictData]
    next: Many[str]
    ticket: NotRequired[int]
    ahead: NotRequired[int]
    why: NotRequired[str]
    cycle: NotRequired[Many[WaitData]]
    refused: NotRequired[RefusalData | None]
    inherited: NotRequired[Many[LeftWorkData]]
    warnings: NotRequired[Many[str]]

class ClaimsListAnswer(TypedDict):
    claims: Many[HeldClaimData]

class ClaimsShowAnswer(TypedDict):
    path: str
    holders: Many[HeldClaimData]
    waiters: Many[TicketData]

class ReleaseAnswer(TypedDict):
    released: Many[ClaimData]
    left: NotRequired[Many[LeftWorkData]]

class CheckAnswer(TypedDict):
    free: bool
    conflicts: Many[ConflictData]

class RenewAnswer(TypedDict):
    outcome: str
    claims: Many[ClaimData]
    lost: Many[LostData]
    asks: Many[AskData]

class AskAnswer(TypedDict):
    asked: Many[AskData]

class AnswerAnswer(TypedDict):
    answered: Many[AskData]

class EscalateAnswer(TypedDict):
    escalated: Many[EscalationData]

class RevokeAnswer(TypedDict):
    revoked: Many[ClaimData]

class TransferAnswer(TypedDict):
    transferred: Many[ClaimData]

class QueueListAnswer(TypedDict):
    queue: Many[QueuedTicketData]

class WhoAnswer(TypedDict):
    paths: Many[HoldersData]

class StatusAnswer(TypedDict):
    now: float
    seq: int
    claims: Many[HeldClaimData]
    queue: Many[QueuedTicketData]
    agents: Many[AgentData]
    decisions: UndecidedData

class AgentLsAnswer(TypedDict):
    agents: Many[AgentData]

class AgentJoinAnswer(TypedDict):
    agent: AgentData

class AgentShowAnswer(TypedDict):
    agent: AgentData
    claims: Many[HeldClaimData]
    queue: Many[TicketData]
    lost: Many[LostData]

class AgentReportAnswer(TypedDict):
    agent: AgentData

class AgentBeatAnswer(TypedDict):
    outcome: str
    claims: Many[ClaimData]
    lost: Many[LostData]
    asks: Many[AskData]

class AgentLeaveAnswer(TypedDict):
    agent: str
    released: Many[ClaimData]

class AgentStopAnswer(TypedDict):
    stopped: Many[str]

class CrewLsAnswer(TypedDict):
    up: bool
    paused: bool
    limit: int
    supervisor: bool
    roles: Many[CrewRoleData]
    members: Many[CrewMemberData]
    waiting: Many[CrewWaitData]

class CrewUpAnswer(TypedDict):
    up: bool
    paused: bool
    limit: int
    supervisor: bool
    roles: Many[CrewRoleData]
    members: Many[CrewMemberData]
    waiting: Many[CrewWaitData]

class CrewSpawnAnswer(TypedDict):
    member: CrewMemberData

class CrewStopAnswer(TypedDict):
    stopped: Many[CrewMemberData]

class CrewRestartAnswer(TypedDict):
    restarted: Many[CrewMemberData]

class CrewScaleAnswer(TypedDict):
    up: bool
    paused: bool
    limit: int
    supervisor: bool
    roles: Many[CrewRoleData]
    members: Many[CrewMemberData]
    waiting: Many[CrewWaitData]

class CrewPauseAnswer(TypedDict):
    up: bool
    paused: bool
    limit: int
    supervisor: bool
    roles: Many[CrewRoleData]
    members: Many[CrewMemberData]
    waiting: Many[CrewWaitData]

class CrewResumeAnswer(TypedDict):
    up: bool
    paused: bool
    limit: int
    supervisor: bool
    roles: Many[CrewRoleData]
    members: Many[CrewMemberData]
    waiting: Many[CrewWaitData]

class CrewShowAnswer(TypedDict):
    member: CrewMemberData
    crashes: Many[CrewCrashData]
    output: str

class CrewLogsAnswer(TypedDict):
    agent: str
    text: str
    offset: int
    size: int
    file: int

class AlertsListAnswer(TypedDict):
    alerts: Many[AlertData]
    next_cursor: str | None

class AlertsShowAnswer(TypedDict):
    alert: AlertData

class AlertsAckAnswer(TypedDict):
    acknowledged: Many[AlertData]

class AlertsCheckAnswer(TypedDict):
    opened: Many[AlertData]
    raised: Many[AlertData]
    resolved: Many[AlertData]
    open: Many[AlertData]

class LogListAnswer(TypedDict):
    entries: Many[EntryData]

class LogNumbersAnswer(TypedDict):
    ranges: Many[int]
    count: int
    complete: bool
    last: int

class LogSummaryAnswer(TypedDict):
    entries: int
    first_seq: int
    last_seq: int
    by_kind: Any
    by_agent: Any

class FilesListAnswer(TypedDict):
    folder: str
    seq: int
    total: FileNodeData
    nodes: Many[FileNodeData]
    more: int

class FilesShowAnswer(TypedDict):
    file: FileNodeData
    seq: int
    tracked: bool
    change: str | None
    holders: Many[HeldClaimData]
    queue: Many[QueuedTicketData]
    forecast: Many[ForecastAgentsData]
    log: Many[EntryData]

class TimelineShowAnswer(TypedDict):
    project: str
    now: float
    since: float
    until: float
    known_since: float | None
    complete_since: float
    truncated: bool
    entries: int
    claims: Many[ClaimSpanData]
    waits: Many[WaitSpanData]
    agents: Many[AgentSpanData]
    tasks: Many[TaskSpanData]
    marks: Many[MarkData]
    series: TimeSeriesData
    files: Many[FileFiguresData]
    work: Many[AgentFiguresData]
    totals: TotalsData

class ProjectsListAnswer(TypedDict):
    projects: Many[ProjectData]

class ProjectsAddAnswer(TypedDict):
    project: ProjectData

class HealthShowAnswer(TypedDict):
    ok: bool
    version: str
    pid: int
    started: float
    parts: Any
    projects: Many[CheckedProjectData]

class TaskLsAnswer(TypedDict):
    tasks: Many[Any]
    done: int
    set_aside: Many[FindingData]
    stale: NotRequired[str]

class TaskNewAnswer(TypedDict):
    created: NotRequired[Many[TaskData]]
    would_create: NotRequired[Many[TaskData]]
    similar: Many[SimilarTaskData]

class TaskShowAnswer(TypedDict):
    task: TaskData
    log: Many[EntryData]

class TaskGraphAnswer(TypedDict):
    tasks: Many[Any]
    ready: Many[str]
    waves: Many[Any]
    never: Many[str]
    cycles: Many[Any]
    critical_path: Many[str]
    width: int
    width_exact: bool

class TaskValidateAnswer(TypedDict):
    files: int
    wrong: int
    findings: Many[FindingData]

class TaskTakeAnswer(TypedDict):
    outcome: str
    next: Many[str]
    token: NotRequired[int | None]
    claims: NotRequired[Many[ClaimData]]
    conflicts: NotRequired[Many[ConflictData]]
    ticket: NotRequired[int]
    ahead: NotRequired[int]
    why: NotRequired[str]
    cycle: NotRequired[Many[WaitData]]
    refused: NotRequired[RefusalData | None]
    inherited: NotRequired[Many[LeftWorkData]]
    task: NotRequired[TaskData]
    tasks: NotRequired[Many[Any]]

class TaskStartAnswer(TypedDict):
    outcome: str
    next: Many[str]
    token: NotRequired[int | None]
    claims: NotRequired[Many[ClaimData]]
    conflicts: NotRequired[Many[ConflictData]]
    ticket: NotRequired[int]
    ahead: NotRequired[int]
    why: NotRequired[str]
    cycle: NotRequired[Many[WaitData]]
    refused: NotRequired[RefusalData | None]
    inherited: NotRequired[Many[LeftWorkData]]
    task: NotRequired[TaskData]
    tasks: NotRequired[Many[Any]]

class TaskDoneAnswer(TypedDict):
    done: NotRequired[TaskData]
    similar: NotRequired[Many[SimilarTaskData]]
    released: NotRequired[Many[ClaimData]]

class TaskFailAnswer(TypedDict):
    failed: NotRequired[TaskData]
    released: NotRequired[Many[ClaimData]]

class TaskReleaseAnswer(TypedDict):
    released: TaskData

class TaskRetryAnswer(TypedDict):
    retry: TaskData

class TaskReopenAnswer(TypedDict):
    reopen: TaskData

class TaskCancelAnswer(TypedDict):
    cancel: TaskData

class TaskBlockAnswer(TypedDict):
    block: TaskData

class TaskReassignAnswer(TypedDict):
    reassign: TaskData
    similar: Many[SimilarTaskData]

class DelegateAnswer(TypedDict):
    outcome: str
    task: TaskData | None
    told: Many[str]
    ended: NotRequired[Many[str]]
    similar: NotRequired[Many[SimilarWorkData]]
    next: NotRequired[Many[str]]

class OrchestrateAnswer(TypedDict):
    assigned: Many[str]
    followups: Many[str]
    timeouts: Many[Any]
    conflicts: Many[Any]
    archived: Many[str]
    returned: Many[str]
    set_aside: Many[FindingData]
    troubles: Many[Any]
    accepted: Many[str]
    restored: Many[str]
    commits: Many[str]
    left: str
    unpushed: str

class SayAnswer(TypedDict):
    id: str
    at: float
    sender: str | None
    role: str
    human: bool
    kind: str
    text: str
    to: str
    boxes: Many[str]
    reply_to: str | None
    data: Any

class InboxAnswer(TypedDict):
    messages: NotRequired[Many[LetterData]]
    left: NotRequired[int]

class GroupLsAnswer(TypedDict):
    groups: Many[GroupData]

class GroupNewAnswer(TypedDict):
    name: str
    members: Many[str]
    roles: Many[str]
    by: str
    at: float

class GroupShowAnswer(TypedDict):
    name: str
    members: Many[str]
    roles: Many[str]
    by: str
    at: float
    reaches: Many[str]
    messages: Many[MessageData]

class GroupDropAnswer(TypedDict):
    name: str
    members: Many[str]
    roles: Many[str]
    by: str
    at: float

class GroupAddAnswer(TypedDict):
    name: str
    members: Many[str]
    roles: Many[str]
    by: str
    at: float

class GroupRmAnswer(TypedDict):
    name: str
    members: Many[str]
    roles: Many[str]
    by: str
    at: float

class DecideNewAnswer(TypedDict):
    decision: DecisionData

class DecideLsAnswer(TypedDict):
    decisions: Many[DecisionData]
    left: int

class DecideShowAnswer(TypedDict):
    decision: DecisionData
    sides: NotRequired[SidesData]

class DecideCommentAnswer(TypedDict):
    decision: DecisionData

class DecideWithdrawAnswer(TypedDict):
    decision: DecisionData

class DecideConfirmAnswer(TypedDict):
    decided: Many[DecisionData]

class DecideRejectAnswer(TypedDict):
    decided: Many[DecisionData]

class DecideRevokeAnswer(TypedDict):
    decided: Many[DecisionData]

class DecideRefuseAnswer(TypedDict):
    decided: Many[DecisionData]

class CommitAnswer(TypedDict):
    outcome: str
    commit: NotRequired[str | None]
    ref: NotRequired[str]
    files: NotRequired[Many[CommittedFileData]]
    unchanged: NotRequired[Many[str]]
    ignored: NotRequired[Many[str]]
    on_disk: NotRequired[Many[str]]
    nobody: NotRequired[Many[CommittedFileData]]
    nobody_elsewhere: NotRequired[int]
    others: NotRequired[Many[BlockedData]]
    released: NotRequired[Many[ClaimData]]
    seq: NotRequired[int | None]
    repeated: NotRequired[bool]
    late: NotRequired[bool]
    included: NotRequired[Many[InheritedData]]
    code: NotRequired[str]
    hook: NotRequired[str | None]
    blocked: NotRequired[Many[BlockedData]]

class ChangesAnswer(TypedDict):
    trees: Many[ChangedTreeData]

class DiffAnswer(TypedDict):
    agent: str
    files: Many[ChangedFileData]
    diff: str

class WorktreeNewAnswer(TypedDict):
    worktree: WorktreeData | None
    new: bool
    notes: Many[str]
    path: NotRequired[str]
    shared: NotRequired[bool]
    reason: NotRequired[str]
    code: NotRequired[str]

class WorktreeLsAnswer(TypedDict):
    worktrees: Many[ListedWorktreeData]

class WorktreeSetupAnswer(TypedDict):
    worktree: WorktreeData

class WorktreeRmAnswer(TypedDict):
    removed: bool
    worktree: WorktreeData
    salvage: NotRequired[str | None]
    branch_gone: NotRequired[bool]
    notes: NotRequired[Many[str]]
    code: NotRequired[str]
    held: NotRequired[Many[HoldingData]]
    why: NotRequired[str]

class WorktreeGcAnswer(TypedDict):
    worktrees: Many[RemovalData]

class SalvageLsAnswer(TypedDict):
    salvaged: Many[SalvageData]

class SalvageShowAnswer(TypedDict):
    id: str
    ref: str
    commit: str
    at: float
    subject: str
    ignored_in: str | None
    message: str
    head: str
    changes: Many[Any]

class SalvageRestoreAnswer(TypedDict):
    id: str
    ref: str
    commit: str
    at: float
    subject: str
    ignored_in: str | None
    folder: NotRequired[str]
    branch: NotRequired[str]

class HandlersListAnswer(TypedDict):
    handlers: Many[HandlerData]

class JobsListAnswer(TypedDict):
    jobs: Many[JobData]

class MergesListAnswer(TypedDict):
    running: Many[HeldClaimData]
    waiting: Many[QueuedTicketData]
    results: Many[EntryData]

class MergeAnswer(TypedDict):
    into: str
    old: str
    new: str
    tree: str
    branches: Many[BranchData]
    notes: Many[str]

class ForecastAnswer(TypedDict):
    base: str
    parties: Many[PartyData]
    conflicts: Many[ForecastPairData]
    cannot_merge: Many[UnmergeableData]
    left_out: Many[LeftOutData]
    compared: int
    met: int
    merged: int

class BriefAnswer(TypedDict):
    number: int | None
    changed: bool
    again: bool
    mode: str | None
    digest: str | None
    text: str
    mail: Many[str]
    left: int
    state: CrewStateData | None

class BriefingsDeliveredAnswer(TypedDict):
    number: int
    delivered: bool

class ConfigAnswer(TypedDict):
    settings: Any
    root: str
    state: str

class EngineCheckAnswer(TypedDict):
    engine: str
    safe: bool
    findings: Many[Any]
    measured: Any

class DoctorAnswer(TypedDict):
    well: bool
    findings: Many[Any]
    agents: Many[Any]
    crew: Many[Any]
    done: NotRequired[Many[str]]
    proofs: NotRequired[Many[Any]]

class GitStatusAnswer(TypedDict):
    installed: bool
    hooks: Many[Any]
    store: str
    works: bool

class WhoamiAnswer(TypedDict):
    agent: str
    human: bool
    source: str
    value: str
    role: str | None
    registered: bool
    project: str | None
    doubt: str
    considered: Many[Any]
    scope: NotRequired[str]
    expires: NotRequired[float | None]

class ExplainAnswer(TypedDict):
    a: str
    b: str
    overlap: bool
    witness: str | None

class TokenLsAnswer(TypedDict):
    tokens: Many[TokenData]

class TokenNewAnswer(TypedDict):
    token: str
    id: str
    scope: str
    agent: str
    project: str
    folder: str
    created: float
    used: float | None
    expires: float | None
    kind: str

class TokenRevokeAnswer(TypedDict):
    id: str
    scope: str
    agent: str
    project: str
    folder: str
    created: float
    used: float | None
    expires: float | None
    kind: str

class TokenLoginAnswer(TypedDict):
    url: str
    expires: float

class ClaimsCalls:
    def create(
        self,
        *,
        patterns: Many[str],
        literal: bool | None = None,
        shared: bool | None = None,
        ttl: float | str | None = None,
        wait: float | str | None = None,
        queue: bool | None = None,
        reason: str | None = None,
        task: str | None = None,
    ) -> ClaimAnswer: ...
    def list(
        self, *, limit: int | None = None, cursor: str | None = None, agent: str | None = None
    ) -> ClaimsListAnswer: ...
    def show(self, path: str, *, literal: bool | None = None) -> ClaimsShowAnswer: ...
    def release_one(
        self, path: str, *, literal: bool | None = None, token: int | None = None
    ) -> ReleaseAnswer: ...
    def check(
        self, *, patterns: Many[str], literal: bool | None = None, shared: bool | None = None
    ) -> CheckAnswer: ...
    def renew(
        self,
        *,
        patterns: Many[str] | None = None,
        literal: bool | None = None,
        ttl: float | str | None = None,
        token: int | None = None,
    ) -> RenewAnswer: ...
    def release(
        self,
        *,
        patterns: Many[str] | None = None,
        all: bool | None = None,
        literal: bool | None = None,
        token: int | None = None,
    ) -> ReleaseAnswer: ...
    def ask(
        self,
        *,
        patterns: Many[str],
        literal: bool | None = None,
        within: float | str | None = None,
        note: str | None = None,
    ) -> AskAnswer: ...
    def answer(
        self,
        *,
        answer: str,
        pattern: str | None = None,
        message: str | None = None,
        literal: bool | None = None,
        note: str | None = None,
        within: float | str | None = None,
        to: str | None = None,
    ) -> AnswerAnswer: ...
    def escalate(
        self, *, patterns: Many[str], literal: bool | None = None, note: str | None = None
    ) -> EscalateAnswer: ...
    def revoke(self, *, pattern: str, reason: str, literal: bool | None = None) -> RevokeAnswer: ...
    def transfer(
        self, *, patterns: Many[str], to: str, literal: bool | None = None, token: int | None = None
    ) -> TransferAnswer: ...

class QueueCalls:
    def list(
        self, *, limit: int | None = None, cursor: str | None = None, agent: str | None = None
    ) -> QueueListAnswer: ...

class WhoCalls:
    def show(self, *, path: Many[str], literal: bool | None = None) -> WhoAnswer: ...

class StatusCalls:
    def show(self, *, agent: str | None = None) -> StatusAnswer: ...

class AgentsCalls:
    def list(
        self, *, limit: int | None = None, cursor: str | None = None, all: bool | None = None
    ) -> AgentLsAnswer: ...
    def join(
        self,
        *,
        id: str | None = None,
        name: str | None = None,
        role: str | None = None,
        parent: str | None = None,
        pid: int | None = None,
        model: str | None = None,
        task: str | None = None,
        host: str | None = None,
    ) -> AgentJoinAnswer: ...
    def show(self, id: str) -> AgentShowAnswer: ...
    def report(
        self,
        id: str,
        *,
        status: str | None = None,
        task: str | None = None,
        model: str | None = None,
        context: float | None = None,
        name: str | None = None,
        role: str | None = None,
        note: str | None = None,
    ) -> AgentReportAnswer: ...
    def beat(self, id: str) -> AgentBeatAnswer: ...
    def leave(
        self, id: str, *, status: str | None = None, note: str | None = None
    ) -> AgentLeaveAnswer: ...
    def stop(self, id: str, *, reason: str | None = None) -> AgentStopAnswer: ...

class CrewCalls:
    def show(self, *, all: bool | None = None) -> CrewLsAnswer: ...
    def up(self) -> CrewUpAnswer: ...
    def spawn(self, *, role: str | None = None, task: str | None = None) -> CrewSpawnAnswer: ...
    def stop(
        self, *, agents: Many[str] | None = None, reason: str | None = None
    ) -> CrewStopAnswer: ...
    def restart(
        self, *, agents: Many[str] | None = None, reason: str | None = None
    ) -> CrewRestartAnswer: ...
    def scale(self, *, limit: int) -> CrewScaleAnswer: ...
    def pause(self) -> CrewPauseAnswer: ...
    def resume(self) -> CrewResumeAnswer: ...
    def details(self, id: str) -> CrewShowAnswer: ...
    def logs(
        self,
        id: str,
        *,
        offset: int | None = None,
        limit: int | None = None,
        file: int | None = None,
    ) -> CrewLogsAnswer: ...

class AlertsCalls:
    def list(
        self, *, limit: int | None = None, cursor: str | None = None, all: bool | None = None
    ) -> AlertsListAnswer: ...
    def show(self, id: str) -> AlertsShowAnswer: ...
    def acknowledge(self, id: str, *, reason: str | None = None) -> AlertsAckAnswer: ...
    def check(self) -> AlertsCheckAnswer: ...

class LogCalls:
    def list(
        self,
        *,
        agent: Many[str] | None = None,
        kind: Many[str] | None = None,
        path: Many[str] | None = None,
        text: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int | None = None,
        cursor: str | None = None,
        order: str | None = None,
        seq: Many[int] | None = None,
    ) -> LogListAnswer: ...
    def numbers(
        self,
        *,
        agent: Many[str] | None = None,
        kind: Many[str] | None = None,
        path: Many[str] | None = None,
        text: str | None = None,
        since: str | None = None,
        until: str | None = None,
    ) -> LogNumbersAnswer: ...
    def summary(self) -> LogSummaryAnswer: ...

class FilesCalls:
    def list(
        self,
        *,
        folder: str | None = None,
        depth: int | None = None,
        match: str | None = None,
        at: str | None = None,
        limit: int | None = None,
    ) -> FilesListAnswer: ...
    def show(self, path: str) -> FilesShowAnswer: ...

class TimelineCalls:
    def show(
        self,
        *,
        since: str | None = None,
        until: str | None = None,
        agent: str | None = None,
        path: str | None = None,
        limit: int | None = None,
    ) -> TimelineShowAnswer: ...

class ProjectsCalls:
    def list(
        self, *, limit: int | None = None, cursor: str | None = None
    ) -> ProjectsListAnswer: ...
    def add(self, *, folder: str) -> ProjectsAddAnswer: ...

class OpenapiCalls:
    def show(self) -> Any: ...

class HealthCalls:
    def show(self) -> HealthShowAnswer: ...

class TasksCalls:
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        all: bool | None = None,
        status: str | None = None,
        agent: str | None = None,
        priority: str | None = None,
        ready: bool | None = None,
        blocked: bool | None = None,
        recent: int | None = None,
    ) -> TaskLsAnswer: ...
    def create(
        self,
        *,
        title: str,
        strict: bool | None = None,
        dry_run: bool | None = None,
        agent: str | None = None,
        priority: str | None = None,
        artefacts: Many[str] | None = None,
        needs: Many[str] | None = None,
        notes: Many[str] | None = None,
        mode: str | None = None,
        slug: str | None = None,
    ) -> TaskNewAnswer: ...
    def show(self, id: str) -> TaskShowAnswer: ...
    def graph(self, *, task: str | None = None) -> TaskGraphAnswer: ...
    def validate(
        self,
        *,
        file: Many[str] | None = None,
        strict: bool | None = None,
        quiet: bool | None = None,
    ) -> TaskValidateAnswer: ...
    def take(
        self,
        *,
        roles: Many[str] | None = None,
        claim: bool | None = None,
        ttl: float | str | None = None,
        reason: str | None = None,
        wait: float | str | None = None,
    ) -> TaskTakeAnswer: ...
    def start(
        self,
        id: str,
        *,
        roles: Many[str] | None = None,
        claim: bool | None = None,
        ttl: float | str | None = None,
        reason: str | None = None,
    ) -> TaskStartAnswer: ...
    def done(
        self,
        id: str,
        *,
        summary: str | None = None,
        artefacts: Many[str] | None = None,
        next: Any | None = None,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
        token: int | None = None,
    ) -> TaskDoneAnswer: ...
    def fail(
        self, id: str, *, message: str, trace: str | None = None, token: int | None = None
    ) -> TaskFailAnswer: ...
    def release(self, id: str, *, token: int | None = None) -> TaskReleaseAnswer: ...
    def retry(self, id: str, *, reason: str | None = None) -> TaskRetryAnswer: ...
    def reopen(self, id: str, *, reason: str | None = None) -> TaskReopenAnswer: ...
    def cancel(self, id: str, *, reason: str) -> TaskCancelAnswer: ...
    def block(self, id: str, *, reason: str) -> TaskBlockAnswer: ...
    def reassign(self, id: str, *, to: str, reason: str | None = None) -> TaskReassignAnswer: ...

class DelegationsCalls:
    def create(
        self,
        *,
        to: str,
        title: str,
        context: str | None = None,
        paths: Many[str] | None = None,
        strict: bool | None = None,
    ) -> DelegateAnswer: ...
    def cancel(self, id: str, *, reason: str | None = None) -> DelegateAnswer: ...

class BoardCalls:
    def orchestrate(self, *, push: bool | None = None) -> OrchestrateAnswer: ...

class MessagesCalls:
    def send(
        self, *, text: str, to: str | None = None, reply_to: str | None = None
    ) -> SayAnswer: ...
    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        all: bool | None = None,
        sent: bool | None = None,
    ) -> InboxAnswer: ...
    def show(self, id: str) -> InboxAnswer: ...
    def read(self, *, ids: Many[str] | None = None) -> InboxAnswer: ...

class GroupsCalls:
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> GroupLsAnswer: ...
    def create(self, *, name: str, members: Many[str] | None = None) -> GroupNewAnswer: ...
    def show(self, name: str) -> GroupShowAnswer: ...
    def drop(self, name: str) -> GroupDropAnswer: ...
    def add(self, name: str, *, members: Many[str]) -> GroupAddAnswer: ...
    def remove(self, name: str, *, members: Many[str]) -> GroupRmAnswer: ...

class DecisionsCalls:
    def create(
        self,
        *,
        title: str,
        rationale: str | None = None,
        confirm: bool | None = None,
        by: str | None = None,
    ) -> DecideNewAnswer: ...
    def list(
        self, *, limit: int | None = None, cursor: str | None = None, pending: bool | None = None
    ) -> DecideLsAnswer: ...
    def show(self, id: str) -> DecideShowAnswer: ...
    def comment(self, id: str, *, text: str) -> DecideCommentAnswer: ...
    def withdraw(self, id: str, *, reason: str | None = None) -> DecideWithdrawAnswer: ...
    def confirm(self, *, ids: Many[str], reason: str | None = None) -> DecideConfirmAnswer: ...
    def reject(self, *, ids: Many[str], reason: str) -> DecideRejectAnswer: ...
    def revoke(self, *, ids: Many[str], reason: str | None = None) -> DecideRevokeAnswer: ...
    def refuse(self, *, ids: Many[str], reason: str) -> DecideRefuseAnswer: ...

class CommitsCalls:
    def create(
        self,
        *,
        message: str | None = None,
        paths: Many[str] | None = None,
        literal: bool | None = None,
        release: bool | None = None,
        verify: bool | None = None,
        dry_run: bool | None = None,
        inherited: bool | None = None,
        anyway: bool | None = None,
        task: str | None = None,
    ) -> CommitAnswer: ...

class ChangesCalls:
    def list(self, *, agent: str | None = None, all_trees: bool | None = None) -> ChangesAnswer: ...
    def diff(
        self, *, agent: str | None = None, path: Many[str] | None = None, stat: bool | None = None
    ) -> DiffAnswer: ...

class WorktreesCalls:
    def create(
        self,
        *,
        agent: str | None = None,
        branch: str | None = None,
        base: str | None = None,
        path: str | None = None,
        setup: str | None = None,
        or_shared: bool | None = None,
    ) -> WorktreeNewAnswer: ...
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> WorktreeLsAnswer: ...
    def env(self, agent: str) -> Any: ...
    def setup(self, agent: str, *, setup: str | None = None) -> WorktreeSetupAnswer: ...
    def remove(
        self, agent: str, *, force: bool | None = None, reason: str | None = None
    ) -> WorktreeRmAnswer: ...
    def gc(
        self, *, dry_run: bool | None = None, salvage: bool | None = None
    ) -> WorktreeGcAnswer: ...

class SalvageCalls:
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> SalvageLsAnswer: ...
    def show(self, id: str) -> SalvageShowAnswer: ...
    def restore(
        self, id: str, *, branch: str | None = None, to: str | None = None
    ) -> SalvageRestoreAnswer: ...

class HandlersCalls:
    def list(self) -> HandlersListAnswer: ...

class JobsCalls:
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> JobsListAnswer: ...

class MergesCalls:
    def list(self, *, limit: int | None = None) -> MergesListAnswer: ...
    def create(
        self,
        *,
        branches: Many[str] | None = None,
        into: str | None = None,
        all: bool | None = None,
        test: str | None = None,
        wait: float | str | None = None,
        message: str | None = None,
        allow_unclaimed: bool | None = None,
        dry_run: bool | None = None,
    ) -> MergeAnswer: ...

class ForecastCalls:
    def show(
        self, *, agent: Many[str] | None = None, base: str | None = None, text: bool | None = None
    ) -> ForecastAnswer: ...
    def warn(
        self, *, agent: Many[str] | None = None, base: str | None = None, text: bool | None = None
    ) -> ForecastAnswer: ...

class BriefingsCalls:
    def peek(self, *, tokens: int | None = None) -> BriefAnswer: ...
    def prepare(self, *, tokens: int | None = None, full: bool | None = None) -> BriefAnswer: ...
    def delivered(self, *, number: int) -> BriefingsDeliveredAnswer: ...

class SettingsCalls:
    def list(self) -> ConfigAnswer: ...
    def show(self, key: str) -> ConfigAnswer: ...

class EngineCalls:
    def check(self) -> EngineCheckAnswer: ...

class DoctorCalls:
    def check(self) -> DoctorAnswer: ...
    def repair(self) -> DoctorAnswer: ...

class GitCalls:
    def status(self) -> GitStatusAnswer: ...

class WhoamiCalls:
    def show(self) -> WhoamiAnswer: ...

class ExplainCalls:
    def show(self, *, a: str, b: str, case_sensitive: bool | None = None) -> ExplainAnswer: ...

class TokensCalls:
    def list(self, *, limit: int | None = None, cursor: str | None = None) -> TokenLsAnswer: ...
    def create(
        self,
        *,
        scope: str | None = None,
        agent: str | None = None,
        for_project: str | None = None,
        expires: float | str | None = None,
    ) -> TokenNewAnswer: ...
    def revoke(self, id: str) -> TokenRevokeAnswer: ...

class LoginCalls:
    def create(self) -> TokenLoginAnswer: ...

class ServerCalls:
    def __init__(self, send: Send) -> None: ...
    @property
    def claims(self) -> ClaimsCalls: ...
    @property
    def queue(self) -> QueueCalls: ...
    @property
    def who(self) -> WhoCalls: ...
    @property
    def status(self) -> StatusCalls: ...
    @property
    def agents(self) -> AgentsCalls: ...
    @property
    def crew(self) -> CrewCalls: ...
    @property
    def alerts(self) -> AlertsCalls: ...
    @property
    def log(self) -> LogCalls: ...
    @property
    def files(self) -> FilesCalls: ...
    @property
    def timeline(self) -> TimelineCalls: ...
    @property
    def projects(self) -> ProjectsCalls: ...
    @property
    def openapi(self) -> OpenapiCalls: ...
    @property
    def health(self) -> HealthCalls: ...
    @property
    def tasks(self) -> TasksCalls: ...
    @property
    def delegations(self) -> DelegationsCalls: ...
    @property
    def board(self) -> BoardCalls: ...
    @property
    def messages(self) -> MessagesCalls: ...
    @property
    def groups(self) -> GroupsCalls: ...
    @property
    def decisions(self) -> DecisionsCalls: ...
    @property
    def commits(self) -> CommitsCalls: ...
    @property
    def changes(self) -> ChangesCalls: ...
    @property
    def worktrees(self) -> WorktreesCalls: ...
    @property
    def salvage(self) -> SalvageCalls: ...
    @property
    def handlers(self) -> HandlersCalls: ...
    @property
    def jobs(self) -> JobsCalls: ...
    @property
    def merges(self) -> MergesCalls: ...
    @property
    def forecast(self) -> ForecastCalls: ...
    @property
    def briefings(self) -> BriefingsCalls: ...
    @property
    def settings(self) -> SettingsCalls: ...
    @property
    def engine(self) -> EngineCalls: ...
    @property
    def doctor(self) -> DoctorCalls: ...
    @property
    def git(self) -> GitCalls: ...
    @property
    def whoami(self) -> WhoamiCalls: ...
    @property
    def explain(self) -> ExplainCalls: ...
    @property
    def tokens(self) -> TokensCalls: ...
    @property
    def login(self) -> LoginCalls: ...
