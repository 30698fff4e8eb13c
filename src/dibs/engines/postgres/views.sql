-- Views for people and reporting tools; Dibs itself does not read them. Times are on the engine's clock.

CREATE FUNCTION dibs.parsed(_text text) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN _text::jsonb;
EXCEPTION WHEN others THEN
    RETURN NULL;  -- a damaged row
END $$;

CREATE VIEW dibs.rows AS
SELECT p.name AS project, kv.key, dibs.parsed(kv.value) AS value, dibs.clock(p) / 1e6 AS now
FROM dibs.kv JOIN dibs.project p ON p.id = kv.project;

CREATE VIEW dibs.claims AS
WITH held AS (
    SELECT c.project, c.now, c.value AS c, b.value ->> 5 AS role, (c.value ->> 'since')::float8 AS since,
        least(greatest((b.value ->> 0)::float8, (c.value ->> 'since')::float8) + (c.value ->> 'ttl')::float8,
            (c.value ->> 'hard')::float8) AS expires
    FROM dibs.rows c LEFT JOIN dibs.rows b ON b.project = c.project AND b.key = 'beat/' || (c.value ->> 'agent')
    WHERE (c.key LIKE 'at/%' OR c.key LIKE 'in/%') AND c.value ? 'token'
)
SELECT project, c ->> 'pattern' AS pattern, c ->> 'mode' AS mode, c ->> 'agent' AS agent, role, c ->> 'reason' AS reason,
    c ->> 'task' AS task, (c ->> 'token')::bigint AS token, to_timestamp(since) AS since, to_timestamp(expires) AS expires
FROM held WHERE expires > now;

CREATE VIEW dibs.queue AS
SELECT project, (value ->> 'number')::bigint AS ticket, value ->> 'agent' AS agent, value -> 'patterns' AS patterns,
    value ->> 'mode' AS mode, value ->> 'reason' AS reason, to_timestamp((value ->> 'since')::float8) AS since
FROM dibs.rows WHERE key LIKE 'wait/%';

CREATE VIEW dibs.tasks AS
SELECT project, t ->> 'id' AS id, coalesce(t ->> 'status', 'new') AS status, t ->> 'title' AS title,
    coalesce(t ->> 'priority', 'normal') AS priority, t ->> 'agent' AS agent, value ->> 'holder' AS holder,
    to_timestamp((t ->> 'created')::float8) AS created, to_timestamp((t ->> 'started')::float8) AS started,
    to_timestamp((t ->> 'completed')::float8) AS completed
FROM dibs.rows, LATERAL (SELECT value -> 'task' AS t) one WHERE key LIKE 'task/%';

CREATE VIEW dibs.activity AS
SELECT p.name AS project, seq, to_timestamp(at) AS at, agent, role, kind, summary, dibs.parsed(details) AS details
FROM dibs.ledger JOIN dibs.project p ON p.id = ledger.project;
