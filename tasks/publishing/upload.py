"""The way to the Hub."""

from pathlib import Path

from huggingface_hub import HfApi, get_token
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled
from huggingface_hub.utils import validate_repo_id

from zoo.errors import UserError


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


def upload(folder: Path, repository: str, *, private: bool, branch: str | None, message: str) -> str:
    """Creates the repository (and the branch) if it is not there, uploads the folder, and returns the commit's address.

    All files come in one commit, or none does. Raises NotPushed if the network, the token or the Hub refuses.
    """
    api = HfApi()
    if get_token() is None:
        raise NotPushed("there is no token: log in with `hf auth login`, or set HF_TOKEN")
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        if branch is not None:
            api.create_branch(repository, branch=branch, exist_ok=True)
        commit = api.upload_folder(
            folder_path=folder, repo_id=repository, revision=branch, commit_message=message, delete_patterns="*"
        )
    except OfflineModeIsEnabled:
        raise NotPushed("offline mode is on (HF_HUB_OFFLINE)") from None
    except HfHubHTTPError as error:
        raise NotPushed(f"the Hub refused: {first_line(error)}") from None
    except Exception as error:  # the errors of whichever package the client reaches the network with
        raise NotPushed(f"no connection to the Hub: {first_line(error)}") from None
    return commit.commit_url


def first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
