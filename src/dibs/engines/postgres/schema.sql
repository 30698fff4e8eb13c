-- A store is one project: its row, its keys, and its ledger.

-- A backup that is restored while agents work must not add a second version.
CREATE UNIQUE INDEX one_version ON dibs.version ((true));

CREATE TABLE dibs.project (
    id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text COLLATE "C" NOT NULL UNIQUE,
    -- Null before the first life.
    life text,
    version bigint NOT NULL DEFAULT 0,
    nonce text NOT NULL DEFAULT '',
    newest bigint NOT NULL DEFAULT 0,
    base bigint NOT NULL DEFAULT 0,
    -- The engine's clock at the last write, and what it adds to the server's, in microseconds.
    latest bigint NOT NULL DEFAULT 0,
    shift bigint NOT NULL DEFAULT 0,
    -- The server's timeline, and whether a synchronous standby confirmed the last write.
    timeline text NOT NULL DEFAULT '',
    replicated boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

CREATE TABLE dibs.kv (
    project integer NOT NULL, key text COLLATE "C" NOT NULL, value text NOT NULL, PRIMARY KEY (project, key)
);

CREATE TABLE dibs.ledger (
    project integer NOT NULL, seq bigint NOT NULL, at double precision NOT NULL, agent text NOT NULL,
    role text NOT NULL, kind text NOT NULL, summary text NOT NULL, details text NOT NULL, PRIMARY KEY (project, seq)
);

-- The newest steps: a nonce shows that a step was applied, and the keys show what it changed.
CREATE TABLE dibs.step (
    project integer NOT NULL, version bigint NOT NULL, nonce text NOT NULL, keys text[] NOT NULL,
    PRIMARY KEY (project, version)
);

-- Use only built-in functions and operators in this transaction, whatever other roles created in the search path. The
-- first statement of a function that a client calls. It costs less than a SET clause on each function.
CREATE FUNCTION dibs.isolate() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'pg_catalog, pg_temp' THEN
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    END IF;
END $$;

CREATE FUNCTION dibs.timeline() RETURNS text LANGUAGE sql AS
    'SELECT pg_catalog."left"(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 8)';

CREATE FUNCTION dibs.replicated() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT current_setting('synchronous_standby_names') <> ''
        AND current_setting('synchronous_commit') IN ('on', 'remote_apply', 'off')  -- off is raised to on
$$;

-- Commit this transaction to disk at least, and let the server warn if no standby confirms it.
CREATE FUNCTION dibs.be_safe() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM set_config('client_min_messages', 'warning', true);
    IF current_setting('synchronous_commit') = 'off' THEN
        PERFORM set_config('synchronous_commit', 'on', true);
    END IF;
END $$;

-- The engine's clock. It waits while the server's is a little behind; more than that is a jump, which a client detects.
CREATE FUNCTION dibs.clock(p dibs.project) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    -- A view calls this, so it does not rely on the search path.
    now bigint := (extract(epoch FROM pg_catalog.clock_timestamp()) OPERATOR(pg_catalog.*) 1000000)::bigint
        OPERATOR(pg_catalog.+) p.shift;
BEGIN
    RETURN CASE WHEN p.latest OPERATOR(pg_catalog.>=) now
        AND p.latest OPERATOR(pg_catalog.<=) (now OPERATOR(pg_catalog.+) 250000) THEN p.latest ELSE now END;
END $$;

-- Lock a project for this transaction. A client that stops in the transaction loses it after a while.
CREATE FUNCTION dibs.enter(_project integer, _wait integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM dibs.isolate();
    PERFORM set_config('lock_timeout', _wait::text, true),
        set_config('idle_in_transaction_session_timeout', (_wait * 3 / 5)::text, true);
    PERFORM dibs.be_safe();
    PERFORM pg_advisory_xact_lock(1684628083, _project);
END $$;

-- Read a store in one snapshot: its header (n = -1), the rows that changed since a version (n = 0), some keys (n = 1),
-- and some ranges (n = 2, 3, ...). A missing value is null.
CREATE FUNCTION dibs.look(
    _project integer, _version bigint, _nonce text, _keys text[], _low text[], _high text[], _part text[]
) RETURNS TABLE (n integer, k text, v text) LANGUAGE plpgsql STABLE AS $$
DECLARE
    p dibs.project;
    status text := 'ok';
    found_nonce text;
BEGIN
    PERFORM dibs.isolate();
    SELECT * INTO p FROM dibs.project WHERE id = _project;
    IF NOT FOUND THEN
        RAISE undefined_table USING MESSAGE = 'the project was deleted';
    END IF;
    IF _version >= 0 AND p.life IS NOT NULL AND (_version, _nonce) <> (p.version, p.nonce) THEN
        SELECT nonce INTO found_nonce FROM dibs.step WHERE project = _project AND version = _version;
        IF _version >= p.version OR found_nonce <> _nonce THEN
            status := 'astray';
        ELSIF found_nonce IS NULL THEN
            status := 'reset';
        ELSE
            RETURN QUERY SELECT 0, c.key, kv.value FROM (
                SELECT DISTINCT unnest(keys) AS key FROM dibs.step WHERE project = _project AND version > _version
            ) c LEFT JOIN dibs.kv ON kv.project = _project AND kv.key = c.key;
        END IF;
    END IF;
    IF cardinality(_keys) > 0 THEN
        RETURN QUERY SELECT 1, key, value FROM dibs.kv WHERE project = _project AND key = ANY (_keys);
    END IF;
    FOR i IN 1 .. cardinality(_low) LOOP
        RETURN QUERY SELECT i + 1, key, value FROM dibs.kv
            WHERE project = _project AND key >= _low[i] AND key < _high[i] AND strpos(key, _part[i]) > 0;
    END LOOP;
    RETURN QUERY SELECT -1, status, concat_ws('|', coalesce(p.life, ''), p.version, p.nonce, dibs.clock(p), p.newest, p.base, p.latest, p.shift,
        p.timeline, dibs.timeline(), p.replicated::int);
END $$;

-- Write a step if the store still has the version that the step read, and every guess was right: the guessed keys
-- and ranges are empty. Return 'ok' and the engine's clock (n = -2), or what prevented it and what the store contains
-- (see dibs.look), or 'busy' if others are writing.
CREATE FUNCTION dibs.write(
    _project integer, _life text, _version bigint, _known text, _nonce text, _moment bigint, _guesses text[], _low text[],
    _high text[], _part text[], _keys text[], _values text[], _gone text[], _newest bigint, _below bigint, _seqs bigint[],
    _ats double precision[], _agents text[], _roles text[], _kinds text[], _summaries text[], _details text[], _new text[]
) RETURNS TABLE (n integer, k text, v text) LANGUAGE plpgsql AS $$
DECLARE
    p dibs.project;
    now bigint;
BEGIN
    PERFORM dibs.isolate();
    n := -2;
    IF NOT pg_try_advisory_xact_lock(1684628083, _project) THEN
        k := 'busy';
        RETURN NEXT;
        RETURN;
    END IF;
    SELECT * INTO p FROM dibs.project WHERE id = _project;
    now := dibs.clock(p);
    k := CASE
        WHEN coalesce(p.life, '') <> _life OR (_new = '{}' AND p.timeline <> dibs.timeline()) THEN 'life'
        WHEN p.version <> _version OR (_new = '{}' AND _moment NOT BETWEEN p.latest AND now) THEN 'stale'
        ELSE 'ok' END;
    IF k = 'ok' AND _guesses <> '{}' THEN
        IF EXISTS (SELECT FROM dibs.kv WHERE project = _project AND key = ANY (_guesses)) THEN
            k := 'guess';
        END IF;
    END IF;
    FOR i IN 1 .. cardinality(_low) LOOP
        IF k = 'ok' AND EXISTS (
            SELECT FROM dibs.kv
            WHERE project = _project AND key >= _low[i] AND key < _high[i] AND strpos(key, _part[i]) > 0
        ) THEN
            k := 'guess';
        END IF;
    END LOOP;
    v := now;
    RETURN NEXT;
    IF k <> 'ok' THEN
        RETURN QUERY SELECT * FROM dibs.look(_project, _version, _known, _guesses, _low, _high, _part);
        RETURN;
    END IF;
    PERFORM dibs.be_safe();
    IF _keys <> '{}' THEN
        INSERT INTO dibs.kv SELECT _project, new.* FROM unnest(_keys, _values) AS new
        ON CONFLICT (project, key) DO UPDATE SET value = excluded.value;
    END IF;
    IF _gone <> '{}' THEN
        DELETE FROM dibs.kv WHERE project = _project AND key = ANY (_gone);
    END IF;
    IF _seqs <> '{}' THEN
        INSERT INTO dibs.ledger SELECT _project, t.* FROM unnest(
            _seqs, _ats, _agents, _roles, _kinds, _summaries, _details) AS t;
        -- Transactions that notify commit one by one in the whole cluster, so do it only if someone waits.
        IF NOT pg_try_advisory_xact_lock(1684628084, _project) THEN
            PERFORM pg_notify('dibs_' || _project, '');
        END IF;
    END IF;
    IF _below > 0 THEN
        DELETE FROM dibs.ledger WHERE project = _project AND seq < _below;
    END IF;
    INSERT INTO dibs.step VALUES (_project, _version + 1, _nonce, _keys || _gone);
    IF (_version + 1) % 1000 = 0 THEN
        DELETE FROM dibs.step WHERE project = _project AND version < _version - 10000;
    END IF;
    IF _new <> '{}' THEN
        UPDATE dibs.project SET life = _new[1], base = _new[2]::bigint, timeline = _new[3], shift = _new[4]::bigint
        WHERE id = _project;
    END IF;
    UPDATE dibs.project SET version = _version + 1, nonce = _nonce, newest = _newest, latest = _moment,
        replicated = dibs.replicated() WHERE id = _project;
END $$;

-- Return whether a step that was to follow a version was applied ('again') or not ('ok'). An empty step makes sure that
-- it never will be, and that a synchronous standby confirms everything so far.
CREATE FUNCTION dibs.settle(_project integer, _wait integer, _version bigint, _nonce text, _life text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    p dibs.project;
    found_nonce text;
BEGIN
    PERFORM dibs.enter(_project, _wait);
    SELECT * INTO p FROM dibs.project WHERE id = _project;
    SELECT nonce INTO found_nonce FROM dibs.step WHERE project = _project AND version = _version + 1;
    INSERT INTO dibs.step VALUES (_project, p.version + 1, gen_random_uuid(), '{}');
    UPDATE dibs.project SET version = version + 1, replicated = dibs.replicated(),
        nonce = (SELECT nonce FROM dibs.step WHERE project = _project AND version = p.version + 1) WHERE id = _project;
    RETURN CASE WHEN p.life IS DISTINCT FROM _life THEN 'life' WHEN found_nonce = _nonce THEN 'again'
        WHEN found_nonce IS NULL AND p.version > _version THEN 'unknown' ELSE 'ok' END;
END $$;
