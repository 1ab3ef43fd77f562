"""Serve the model beside this file: serve.py HTTP-PORT GRPC-PORT, by a Python with nvidia-pytriton."""

import os
import sys
import sysconfig
from pathlib import Path


def main() -> None:
    """Put the stub of this Python beside the backend, as Triton wants it, and become Triton."""
    packages = Path(sysconfig.get_path("purelib"))
    triton = packages / "pytriton" / "tritonserver"
    backend = triton / "backends" / "python"
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    stub = triton / "python_backend_stubs" / version / "triton_python_backend_stub"
    if not stub.exists():
        sys.exit(f"Triton has no stub for Python {version}")
    link = backend / stub.name
    if not link.exists():
        link.symlink_to(stub)
    libraries = [str(packages / "nvidia_pytriton.libs"), sysconfig.get_config_var("LIBDIR")]
    settings = {
        "LD_LIBRARY_PATH": ":".join(libraries),
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}",  # the stub's Python
        "PYTHONPATH": str(packages),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    arguments = {
        "model-repository": Path(__file__).resolve().parent,
        "backend-directory": backend.parent,
        "http-address": "127.0.0.1",
        "grpc-address": "127.0.0.1",
        "http-port": sys.argv[1],
        "grpc-port": sys.argv[2],
        "allow-metrics": "false",
        "exit-timeout-secs": "5",
    }
    server = str(triton / "bin" / "tritonserver")
    command = [server, *(f"--{name}={value}" for name, value in arguments.items())]
    os.execve(server, command, {**os.environ, **settings})


main()
