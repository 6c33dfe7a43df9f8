"""Files in an S3-compatible store, with as few requests as will do and with bounds on how long each may take.

Credentials, region and endpoint are those of the usual AWS_ variables and files; botocore reads them.
"""

import base64
import hashlib
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar

from app.errors import StoreUnavailable
from app.store.remote import FileEntry, RemoteFiles, masked, open_file_system

__all__ = ["SCHEMES", "S3Files"]

T = TypeVar("T")

SCHEMES = ("s3://", "s3a://")

# A store that is gone is found out in less than ten seconds: only what fails within three is tried again.
_CONNECT_S = 2.0
_ANSWER_S = 6.0  # without a byte of the answer, counted from when the request is sent
_AGAIN_WITHIN_S = 3.0
_PAUSE_S = 0.1  # before the first repetition; three times as long before each further one
# For one request as a whole, and as many bytes a second as it sends: a connection may stall or trickle.
_WHOLE_S, _SENT_A_S = 9.0, 2**18
_READ_S = 120.0  # for all of a file, whose size is not known before

_CONNECTIONS = 64  # at once; more threads than that wait for one another

_PAGE = 1000  # files of a listing in one answer: S3 gives no more
_ASK_FROM = 2**20  # bytes; to send fewer takes no longer than to ask whether they are there
_PART = 8 * 2**20  # bytes of a file that is sent in parts; S3 takes none below 5 MiB but the last


class S3Files(RemoteFiles):
    """A bucket, or what is under a prefix in one. A file is there whole or not at all, and durable once it is sent.

    Requests: `check`, `read`, `write`, `delete` one each; `holds` one, or two if it is not there; `keep` one for less
    than 1 MiB, for more one if it is there and two if it is not; a listing one for 1,000 files.
    """

    def __init__(self, url: str, name: str):
        """Raises: StoreUnavailable if the URL names none. Asks nothing of the store."""
        if "@" in url:
            raise StoreUnavailable(
                f"The blob store {masked(url)} cannot be opened: credentials do not belong into its URL: "
                "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and correct SAMEKIND_BLOBS_URL."
            )
        files, root = open_file_system(
            url,
            skip_instance_cache=True,  # one of its own, for the environment as it is now
            use_listings_cache=False,
            max_concurrency=1,  # else each reading begins with a question about the size
            config_kwargs={
                "connect_timeout": _CONNECT_S,
                "read_timeout": _ANSWER_S,
                "retries": {"total_max_attempts": 1},  # they are here, see `_tried`
                "max_pool_connections": _CONNECTIONS,
                # Other checksums than Content-MD5 are beyond many servers that are not Amazon's.
                "request_checksum_calculation": "when_required",
                "response_checksum_validation": "when_required",
            },
        )
        files.retries = 1
        super().__init__(files, root, name)
        self._bucket, _, self._prefix = root.partition("/")
        if not self._bucket:
            raise StoreUnavailable(f"The blob store {url} names no bucket: correct SAMEKIND_BLOBS_URL.")

    def check(self) -> None:
        try:
            self._call("head_bucket")
        except FileNotFoundError as error:
            raise self._no_bucket() from error

    def holds(self, path: str) -> bool:
        if self._head(path) is None:
            self.check()  # the answer is the same if there is no such bucket
            return False
        return True

    def read(self, path: str) -> bytes:
        content: bytes = self._tried(lambda: self._files.cat_file(self._path(path), timeout=_READ_S))
        return content

    def write(self, path: str, content: bytes) -> None:
        # The store refuses what does not arrive as it was sent.
        self._call("put_object", Key=self._key(path), Body=content, ContentMD5=base64.b64encode(_md5(content)).decode())

    def keep(self, path: str, content: bytes) -> None:
        """What was damaged is replaced: small files always, large ones where length or ETag, an MD5, tell."""
        if len(content) >= _ASK_FROM:
            there = self._head(path)
            if (
                there
                and there["ContentLength"] == len(content)
                and there.get("ETag", "").strip('"') == _md5(content).hex()
            ):
                return
        self.write(path, content)

    def upload(self, path: str, file: IO[bytes]) -> None:
        file.seek(0)
        first = file.read(_PART)
        if len(first) < _PART:
            self.write(path, first)
        else:
            self._upload_parts(self._key(path), first, file)

    def delete(self, path: str) -> None:
        self._call("delete_object", Key=self._key(path))

    def folders(self, path: str = "") -> list[str]:
        found = (each["Prefix"] for page in self._listing(path) for each in page.get("CommonPrefixes", ()))
        return sorted(prefix.rstrip("/").rpartition("/")[2] for prefix in found)

    def pages(self, path: str) -> Iterator[list[FileEntry]]:
        for page in self._listing(path):
            found = [
                FileEntry(each["Key"].rpartition("/")[2], each["LastModified"].timestamp())
                for each in page.get("Contents", ())
                if not each["Key"].endswith("/")  # some tools make such files in place of folders
            ]
            if found:
                yield found

    def _listing(self, path: str) -> Iterator[dict[str, Any]]:
        prefix = self._key(path)
        more: dict[str, str] = {}
        while True:
            page = self._call(
                "list_objects_v2", Prefix=f"{prefix}/" if prefix else "", Delimiter="/", MaxKeys=_PAGE, **more
            )
            yield page
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def _head(self, path: str) -> dict[str, Any] | None:
        try:
            return self._call("head_object", Key=self._key(path))
        except FileNotFoundError:
            return None

    def _upload_parts(self, key: str, first: bytes, rest: IO[bytes]) -> None:
        upload = {"Key": key, "UploadId": self._call("create_multipart_upload", Key=key)["UploadId"]}
        try:
            parts: list[dict[str, Any]] = []
            part = first
            while part:
                number = len(parts) + 1
                md5 = base64.b64encode(_md5(part)).decode()
                sent = self._call("upload_part", **upload, PartNumber=number, Body=part, ContentMD5=md5)
                parts.append({"PartNumber": number, "ETag": sent["ETag"]})
                part = rest.read(_PART)
            self._call("complete_multipart_upload", **upload, MultipartUpload={"Parts": parts})
        except FileNotFoundError as error:  # the store has forgotten the upload
            raise self._unavailable(error) from error
        except BaseException:
            self._give_up(upload)
            raise

    def _give_up(self, upload: dict[str, str]) -> None:
        """So that the store need not keep the parts. Where it does not answer, its own rules will remove them."""
        try:
            self._call("abort_multipart_upload", **upload)
        except (FileNotFoundError, StoreUnavailable):
            return

    def _call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Raises: FileNotFoundError, StoreUnavailable."""
        timeout = _WHOLE_S + len(arguments.get("Body", b"")) / _SENT_A_S

        def call() -> Any:
            self._files.s3.meta.events.register_last("before-call.s3", _at_once, unique_id=__name__)
            return self._files.call_s3(method, Bucket=self._bucket, timeout=timeout, **arguments)

        answer: dict[str, Any] = self._tried(call)
        return answer

    def _tried(self, call: Callable[[], T]) -> T:
        """Again where it fails quickly, as when a connection was closed or the store is too busy for a moment.

        Raises: FileNotFoundError, StoreUnavailable.
        """
        began, pause = time.monotonic(), _PAUSE_S
        while True:
            try:
                return call()
            except FileNotFoundError as error:
                if _code(error) == "NoSuchBucket":
                    raise self._no_bucket() from error
                raise
            except Exception as error:
                if _is_refusal(error) or time.monotonic() - began + pause > _AGAIN_WITHIN_S:
                    raise self._unavailable(error) from error
            time.sleep(pause)
            pause *= 3

    def _unavailable(self, error: Exception) -> StoreUnavailable:
        if _is_refusal(error):
            said = _code(error) or masked(str(error))
            return StoreUnavailable(
                f"{self._name} refuses our credentials ({said}): check AWS_ACCESS_KEY_ID, "
                f"AWS_SECRET_ACCESS_KEY and what they allow in the bucket {self._bucket}."
            )
        return super()._unavailable(error)

    def _no_bucket(self) -> StoreUnavailable:
        return StoreUnavailable(
            f"{self._name} has no bucket {self._bucket}: make it, or correct SAMEKIND_BLOBS_URL or AWS_ENDPOINT_URL."
        )

    def _key(self, path: str) -> str:
        return "/".join(part for part in (self._prefix, path) if part)


def _at_once(params: dict[str, Any], **_: Any) -> None:
    """Send bytes with their request, not when the store asks for them: nothing bounds how long that takes."""
    params["headers"].pop("Expect", None)


def _is_refusal(error: Exception) -> bool:
    """Of credentials that are wrong, too weak or not there (botocore's NoCredentialsError and its like)."""
    return isinstance(error, PermissionError) or "Credentials" in type(error).__name__


def _code(error: Exception) -> str:
    """S3's name for what is wrong, if it answered."""
    response: dict[str, Any] = getattr(error.__cause__, "response", {})
    return str(response.get("Error", {}).get("Code", ""))


def _md5(content: bytes) -> bytes:
    """S3's own checksum; what is kept is verified by its sha256 when it is read."""
    return hashlib.md5(content, usedforsecurity=False).digest()
