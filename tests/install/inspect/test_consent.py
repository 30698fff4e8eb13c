"""Whether a user has accepted our hooks, according to the agent's own files."""

import json

import pytest

from dibs.install.inspect.consent import Trusted, codex_hash, codex_key, consent
from dibs.install.inspect.settings import hooks_of

#: The hashes that Codex 0.166.0 reports (hooks/list of its app-server) for the two hooks below.
PRE = "sha256:c0bd22b741ded4d71ccb5a311f15f79ac16cd8276836b4e996c5544d8c58e89b"
STOP = "sha256:2ba34c7a02841fada06b868a093d041fd3d9de81883c789a321916b0aa118851"


@pytest.fixture
def root(tmp_path):
    (tmp_path / "repo" / ".codex").mkdir(parents=True)
    (tmp_path / "home" / ".codex").mkdir(parents=True)
    return tmp_path / "repo"


@pytest.fixture
def home(root):
    return root.parent / "home"


def install(root, command="dibs hook codex || exit 2", **more):
    handler = {"type": "command", "command": command, "timeout": 10, **more}
    group = {"matcher": "^(Bash|apply_patch)$", "hooks": [handler]}
    (root / ".codex" / "hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": [group]}}))
    return hooks_of("codex", str(root), "", {})[0]


def asked(root, home, hooks):
    return consent("codex", hooks, str(root), str(home), {})


def test_a_codex_hook_has_the_hash_that_codex_reports(root):
    (hook,) = install(root)

    assert codex_hash(hook._replace(command="true || exit 2")) == PRE
    plain = hook._replace(event="Stop", matcher="", command="true", entry={})
    assert codex_hash(plain) == STOP


def test_codex_skips_hooks_until_folder_and_hash_are_accepted(root, home):
    hooks = install(root)
    config = home / ".codex" / "config.toml"
    folder = f'[projects."{root}"]\ntrust_level = "trusted"\n'
    state = f'[hooks.state."{codex_key(hooks[0])}"]\n'

    assert asked(root, home, hooks).trusted == Trusted.NO
    config.write_text(folder)
    assert asked(root, home, hooks).trusted == Trusted.NO
    config.write_text(folder + state + 'trusted_hash = "sha256:00"\n')
    assert asked(root, home, hooks).trusted == Trusted.CHANGED
    config.write_text(folder + state + f'trusted_hash = "{codex_hash(hooks[0])}"\n')
    assert asked(root, home, hooks).trusted == Trusted.YES
    config.write_text(
        folder + state + f'enabled = false\ntrusted_hash = "{codex_hash(hooks[0])}"\n'
    )
    assert asked(root, home, hooks).missing


def test_broken_codex_settings_contain_no_consent(root, home):
    hooks = install(root)
    (home / ".codex" / "config.toml").write_text("[[[")

    assert asked(root, home, hooks).missing


@pytest.mark.parametrize(
    ("rules", "trusted"),
    [
        ({}, Trusted.NO),
        ({"{root}": "TRUST_FOLDER"}, Trusted.YES),
        ({"{root}/x": "TRUST_PARENT"}, Trusted.YES),
        ({"{root}": "TRUST_FOLDER", "{root}/.": "DO_NOT_TRUST"}, Trusted.YES),
        ({"{above}": "TRUST_FOLDER"}, Trusted.YES),
        ({"{above}": "TRUST_FOLDER", "{root}": "DO_NOT_TRUST"}, Trusted.NO),
        ({"{root}-other": "TRUST_FOLDER"}, Trusted.NO),
    ],
)
def test_gemini_trusts_a_folder_by_the_nearest_rule(root, home, rules, trusted):
    (home / ".gemini").mkdir()
    told = {k.format(root=root, above=root.parent): v for k, v in rules.items()}
    (home / ".gemini" / "trustedFolders.json").write_text(json.dumps(told))

    assert consent("gemini", [], str(root), str(home), {}).trusted == trusted


def test_copilot_trusts_the_folders_on_its_list_in_any_home(root, home, tmp_path):
    moved = tmp_path / "moved"
    moved.mkdir()
    (moved / "config.json").write_text(json.dumps({"trusted_folders": [str(root.parent)]}))

    assert consent("copilot", [], str(root), str(home), {}).trusted == Trusted.NO
    found = consent("copilot", [], str(root), str(home), {"COPILOT_HOME": str(moved)})
    assert found.trusted == Trusted.YES
