"""Which package holds a module, where the two have different names."""

from __future__ import annotations

# By module. A module that is not here is taken for a package of its name, as most are.
_DISTRIBUTIONS = """
absl absl-py
attr attrs
azure.storage azure-storage-blob
bs4 beautifulsoup4
bson pymongo
clip git+https://github.com/openai/CLIP.git
community python-louvain
Crypto pycryptodome
cv2 opencv-python-headless
dateutil python-dateutil
docx python-docx
dotenv python-dotenv
espeakng py-espeak-ng
faiss faiss-cpu
fitz PyMuPDF
git GitPython
google.cloud google-cloud-core
google.cloud.storage google-cloud-storage
google.generativeai google-generativeai
google.protobuf protobuf
grpc grpcio
hydra hydra-core
igraph python-igraph
imblearn imbalanced-learn
jose python-jose
jwt PyJWT
llama_cpp llama-cpp-python
magic python-magic
mpl_toolkits matplotlib
MySQLdb mysqlclient
nacl PyNaCl
OpenGL PyOpenGL
OpenSSL pyOpenSSL
paddle paddlepaddle
PIL Pillow
pkg_resources setuptools
psycopg2 psycopg2-binary
pyannote pyannote.audio
pylab matplotlib
pywt PyWavelets
serial pyserial
skimage scikit-image
sklearn scikit-learn
slugify python-slugify
socks PySocks
speech_recognition SpeechRecognition
TTS coqui-tts
umap umap-learn
usb pyusb
websocket websocket-client
whisper openai-whisper
wx wxPython
yaml PyYAML
zmq pyzmq
"""


def distribution_of(module: str) -> str:
    """Return the package to install for a module.

    >>> distribution_of("sklearn.svm"), distribution_of("numpy.fft")
    ('scikit-learn', 'numpy')
    """
    lines = (line.partition(" ") for line in _DISTRIBUTIONS.split("\n") if line)
    known = {name: distribution for name, _, distribution in lines}
    parts = module.split(".")
    for end in range(len(parts), 0, -1):
        name = known.get(".".join(parts[:end]))
        if name:
            return name
    return parts[0]
