from __future__ import annotations

import pytest

from agentscope_rx.errors import UnsupportedContentError
from agentscope_rx.message import AudioBlock, Base64Source, DataBlock, ImageBlock, TextBlock, URLSource
from agentscope_rx.model.media import MediaBlock, MediaForm, data_url, media_type_of, placeholder

PNG = Base64Source(media_type="image/png", data="aGk=")
FORM = MediaForm(
    "the test",
    "images, and PDF in base64",
    {
        "image": lambda source, media_type, name: {"image": media_type},
        "application/pdf": lambda source, media_type, name: {"pdf": name} if isinstance(source, Base64Source) else None,
    },
)


@pytest.mark.parametrize(
    ("block", "media_type"),
    [
        (DataBlock(PNG), "image/png"),
        (DataBlock(Base64Source(media_type="Audio/X-Wav; rate=8000", data="")), "audio/x-wav"),
        (DataBlock(URLSource(url="https://x.org/a.jpg?size=2")), "image/jpeg"),
        (DataBlock(URLSource(url="https://x.org/a.pdf", media_type="text/plain")), "text/plain"),
        (DataBlock(URLSource(url="https://x.org/a")), "image/*"),
        (AudioBlock(source=URLSource(url="https://x.org/a.png")), "audio/*"),
        (ImageBlock(source=URLSource(url="https://x.org/a")), "image/*"),
    ],
)
def test_media_types(block: MediaBlock, media_type: str) -> None:
    assert media_type_of(block) == media_type
    assert placeholder(block) == f"[{media_type}: cannot be shown here]"


def test_a_writer_is_found_by_the_whole_type_or_its_first_half() -> None:
    pdf = DataBlock(Base64Source(media_type="application/pdf", data="aGk="), name="a.pdf")
    assert FORM.part(DataBlock(PNG)) == {"image": "image/png"}
    assert FORM.part(pdf) == {"pdf": "a.pdf"}


@pytest.mark.parametrize(
    ("block", "what"),
    [
        (DataBlock(Base64Source(media_type="application/zip", data="U0VDUkVU")), "application/zip;"),
        (DataBlock(URLSource(url="https://secret.org/a.pdf")), "application/pdf by URL;"),
    ],
)
def test_what_cannot_be_carried_is_refused_or_left_out(block: MediaBlock, what: str) -> None:
    with pytest.raises(UnsupportedContentError, match=r"images, and PDF in base64\. Nothing was sent") as caught:
        FORM.part(block)
    assert f"the test cannot carry {what}" in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "U0VDUkVU" not in str(caught.value)
    assert FORM.parts([TextBlock("t"), block, DataBlock(PNG)]) == [{"image": "image/png"}]


def test_a_url_that_holds_its_content() -> None:
    assert data_url(PNG, "image/png") == "data:image/png;base64,aGk="
