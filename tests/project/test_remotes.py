"""Resolving remotes, and what clones of one repository have in common."""

import os
import subprocess

import pytest

from dibs.errors import Misconfigured
from dibs.local.repository import find
from dibs.project import remotes


@pytest.fixture
def repo(tmp_path):
    root = tmp_path / "clone"
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def configure(repo, *pairs):
    for key, value in pairs:
        subprocess.run(["git", "-C", str(repo), "config", key, value], check=True)


def resolved(repo, url):
    return remotes.resolve(find(str(repo), {}), url)


def named(repo):
    return remotes.project_name(find(str(repo), {}))


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org/a.git",
        "git@example.org:a/b.git",
        "ssh://git@h:22/a",
        "/srv/a.git",
        "file:///srv/a.git",
    ],
)
def test_the_name_of_a_remote_resolves_to_its_url(repo, url):
    configure(repo, ("remote.origin.url", url))

    assert resolved(repo, "git:origin") == url
    assert resolved(repo, "git:") == url


def test_a_relative_remote_path_is_relative_to_the_repository(repo):
    configure(repo, ("remote.hub.url", "../hub.git"))

    assert os.path.normpath(resolved(repo, "git:hub")) == str(repo.parent / "hub.git")


def test_a_dot_is_a_path_and_not_a_name(repo):
    assert resolved(repo, "git:.") == str(repo / ".git")
    assert resolved(repo, "git:..") == str(repo.parent)


def test_the_push_url_is_used(repo):
    configure(
        repo, ("remote.origin.url", "https://a.example/x"), ("remote.origin.pushurl", "https://b.example/x")
    )  # fmt: skip

    assert resolved(repo, "git:origin") == "https://b.example/x"


def test_a_url_that_git_rewrites_is_rewritten(repo):
    configure(
        repo, ("remote.origin.url", "gh:org/x"), ("url.https://example.org/.insteadOf", "gh:")
    )

    assert resolved(repo, "git:origin") == "https://example.org/org/x"


@pytest.mark.parametrize("url", ["git:https://example.org/a", "git:git@h:a.git", "git:/srv/a.git"])
def test_a_url_can_be_given_directly(repo, url):
    assert resolved(repo, url) == url.removeprefix("git:")


def test_the_url_of_a_git_daemon_is_used_unchanged(repo):
    assert resolved(repo, "git://example.org/a") == "git://example.org/a"


def test_a_missing_remote_is_a_configuration_error(repo):
    with pytest.raises(Misconfigured) as caught:
        resolved(repo, "git:nowhere")

    assert caught.value.code == "REMOTE_NAME"


@pytest.mark.parametrize(
    "spelling",
    ["git@GitHub.com:org/shop.git", "https://github.com/org/shop", "ssh://git@github.com/org/shop.git",
     "ssh://git@github.com:22/org/shop/", "https://user:token@github.com/org/shop.git"],
)  # fmt: skip
def test_clones_with_different_urls_of_one_remote_share_a_project(repo, spelling):
    configure(repo, ("remote.origin.url", "https://github.com/org/shop.git"))
    one = named(repo)

    configure(repo, ("remote.origin.url", spelling))

    assert named(repo) == one
    assert one.startswith("shop-")
    assert "token" not in one


def test_repositories_with_the_same_name_are_different_projects(repo):
    configure(repo, ("remote.origin.url", "https://github.com/org/shop.git"))
    one = named(repo)

    configure(repo, ("remote.origin.url", "https://github.com/other/shop.git"))

    assert named(repo) != one


def test_a_repository_without_origin_needs_a_project_name(repo):
    with pytest.raises(Misconfigured) as caught:
        named(repo)

    assert caught.value.code == "PROJECT_NAME"
