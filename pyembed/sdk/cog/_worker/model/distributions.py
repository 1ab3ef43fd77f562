"""Which package holds a module, where the two have different names."""

from __future__ import annotations

import ast
import re

# By module. A module that is not here is taken for a package of its name, as most are.
_DISTRIBUTIONS = """
absl absl-py
ahocorasick pyahocorasick
apex git+https://github.com/NVIDIA/apex.git
attr attrs
awq autoawq
azure azure-core
azure.storage azure-storage-blob
barcode python-barcode
Bio biopython
bs4 beautifulsoup4
bson pymongo
cairo pycairo
camelot camelot-py
can python-can
clip git+https://github.com/openai/CLIP.git
community python-louvain
cpuinfo py-cpuinfo
Crypto pycryptodome
Cryptodome pycryptodomex
cupy cupy-cuda12x
cv2 opencv-python-headless
dateutil python-dateutil
decouple python-decouple
detectron2 git+https://github.com/facebookresearch/detectron2.git
discord discord.py
dns dnspython
docx python-docx
dotenv python-dotenv
espeakng py-espeak-ng
faiss faiss-cpu
ffmpeg ffmpeg-python
fitz PyMuPDF
fpdf fpdf2
gi PyGObject
git GitPython
google protobuf
google.cloud google-cloud-core
google.cloud.secretmanager google-cloud-secret-manager
google.protobuf protobuf
googleapiclient google-api-python-client
groundingdino groundingdino-py
grpc grpcio
haiku dm-haiku
hydra hydra-core
imblearn imbalanced-learn
jose python-jose
jpype JPype1
jwt PyJWT
kafka kafka-python
lavis salesforce-lavis
ldap python-ldap
llama_cpp llama-cpp-python
magic python-magic
markdown_it markdown-it-py
MeCab mecab-python3
mpl_toolkits matplotlib
multipart python-multipart
MySQLdb mysqlclient
nacl PyNaCl
nemo nemo_toolkit
open_clip open-clip-torch
OpenGL PyOpenGL
OpenSSL pyOpenSSL
osgeo GDAL
ot POT
paddle paddlepaddle
parselmouth praat-parselmouth
pdfminer pdfminer.six
PIL Pillow
pkg_resources setuptools<81
pptx python-pptx
psycopg2 psycopg2-binary
pyannote pyannote.audio
pylab matplotlib
pynvml nvidia-ml-py
pyro pyro-ppl
pythonjsonlogger python-json-logger
pytorch3d git+https://github.com/facebookresearch/pytorch3d.git
pywt PyWavelets
rest_framework djangorestframework
ruamel ruamel.yaml
serial pyserial
skbio scikit-bio
skfuzzy scikit-fuzzy
skimage scikit-image
sklearn scikit-learn
skopt scikit-optimize
skvideo scikit-video
slugify python-slugify
snappy python-snappy
socks PySocks
sonnet dm-sonnet
speech_recognition SpeechRecognition
stable_whisper stable-ts
Stemmer PyStemmer
surprise scikit-surprise
tabula tabula-py
taming taming-transformers
telegram python-telegram-bot
tree dm-tree
TTS coqui-tts
turbojpeg PyTurboJPEG
umap umap-learn
usb pyusb
vlc python-vlc
websocket websocket-client
whisper openai-whisper
wx wxPython
Xlib python-xlib
yaml PyYAML
zmq pyzmq
"""

# Namespaces of many packages, each named after its module, as google-cloud-storage.
_NAMESPACES = ("azure", "azure.ai", "azure.mgmt", "azure.storage", "google", "google.cloud")


def distribution_of(module: str) -> str:
    """Return the package to install for a module.

    >>> distribution_of("sklearn.svm"), distribution_of("numpy.fft")
    ('scikit-learn', 'numpy')
    >>> distribution_of("google.cloud.vision_v1"), distribution_of("google.protobuf.message")
    ('google-cloud-vision', 'protobuf')
    """
    lines = (line.partition(" ") for line in _DISTRIBUTIONS.split("\n") if line)
    known = {name: distribution for name, _, distribution in lines}
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        name = ".".join(parts[:end])
        if ".".join(parts[: end - 1]) in _NAMESPACES and name not in (*known, *_NAMESPACES):
            return re.sub(r"-v\d\w*$", "", re.sub(r"[._]", "-", name))
        if name in known:
            return known[name]
    return parts[0]


def imported_at(source: str, line: int, module: str) -> str:
    r"""Return what the statement at a line imports below a missing module, else that module.

    Python names the first part that is missing: google of google.cloud.storage.

    >>> imported_at("from google.cloud import (\n    storage, vision)", 1, "google")
    'google.cloud.storage'
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return module
    names = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.Import, ast.ImportFrom)):
            continue
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            before = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            names += [before + alias.name for alias in node.names]
    return next((name for name in names if name.startswith(module + ".")), module)
