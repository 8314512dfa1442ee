"""The way to the Hub."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from huggingface_hub import HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from huggingface_hub.utils import validate_repo_id

from zoo.errors import UserError


class Place(NamedTuple):
    """A repository USER/NAME of the Hub, and its branch; None: main."""

    repository: str
    branch: str | None = None

    @property
    def name(self) -> str:
        """As scripts take it: USER/NAME, or USER/NAME@BRANCH."""
        return self.repository if self.branch is None else f"{self.repository}@{self.branch}"


class NotPushed(RuntimeError):
    """The folder could not be uploaded; the reason in one line."""


def check_repository(repository: str) -> None:
    """UserError unless it has the form USER/NAME."""
    try:
        validate_repo_id(repository)
    except HFValidationError as error:
        raise UserError(f"--repo is {repository!r}: {str(error).splitlines()[0]}") from None
    if repository.count("/") != 1:
        raise UserError(f"--repo is {repository!r}; allowed: USER/NAME, such as someone/tf-nd-question-formation.")


def upload(folder: Path, place: Place, *, private: bool, message: str, replaced: Iterable[str]) -> str:
    """Creates the repository (and the branch) if it is not there, uploads the folder, and returns the commit's address.

    All files come in one commit, or none does. What else is in the repository stays, except files `replaced` that the
    folder lacks: those of an earlier run. Raises NotPushed if the network, the token or the Hub refuses.
    """
    repository, branch = place
    api = HfApi()
    if get_token() is None:
        raise NotPushed("there is no token: log in with `hf auth login`, or set HF_TOKEN")
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        if branch is not None:
            api.create_branch(repository, branch=branch, exist_ok=True)
        commit = api.upload_folder(
            folder_path=folder,
            repo_id=repository,
            revision=branch,
            commit_message=message,
            delete_patterns=list(replaced),
        )
    except OfflineModeIsEnabled:
        raise NotPushed("offline mode is on (HF_HUB_OFFLINE)") from None
    except HfHubHTTPError as error:
        raise NotPushed(f"the Hub refused: {first_line(error)}") from None
    except Exception as error:  # the errors of whichever package the client reaches the network with
        lines = dict.fromkeys(first_line(each) for each in (error, error.__cause__) if each is not None)
        raise NotPushed(f"no connection to the Hub, or it broke: {': '.join(lines)}") from None
    return commit.commit_url


def first_line(error: BaseException) -> str:
    """What an error says, in one line."""
    text = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return text if " " in text else f"{type(error).__name__} {text}".strip()  # "'url'" alone says nothing
