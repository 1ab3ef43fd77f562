"""A text to image model as most diffusers models are written."""

import hashlib
import os
import random
import tempfile
from typing import List, Optional

from cog import BasePredictor, Input, Path
from PIL import Image, ImageFilter


class DDIM:
    @classmethod
    def from_config(cls, config):
        return cls()


class PNDM(DDIM):
    pass


SCHEDULERS = {"DDIM": DDIM, "PNDM": PNDM}


class PipelineOutput:
    def __init__(self, images):
        self.images = images


class Pipeline:
    """What from_pretrained returns: state, a scheduler that is replaced, a call with a callback."""

    def __init__(self):
        self.scheduler = DDIM()

    def __call__(self, prompt, width, height, num_images, steps, guidance, generator, callback=None):
        images = []
        for _ in range(num_images):
            colour = [generator.randrange(256) for _ in range(3)]
            seen = hashlib.sha256(f"{prompt} {guidance}".encode()).digest()
            image = Image.new("RGB", (width, height), tuple(c ^ s for c, s in zip(colour, seen)))
            for step in range(steps):
                image = image.filter(ImageFilter.SHARPEN)
                if callback is not None:
                    callback(step)
            images.append(image)
        return PipelineOutput(images)


class Predictor(BasePredictor):
    def setup(self):
        """Load the model into memory to make running multiple predictions efficient"""
        print("Loading pipeline...")
        self.pipe = Pipeline()

    def predict(
        self,
        prompt: str = Input(description="Input prompt", default="an astronaut riding a horse"),
        negative_prompt: Optional[str] = Input(description="What not to show", default=None),
        width: int = Input(description="Width of the image", choices=[16, 32, 64, 128], default=64),
        height: int = Input(description="Height of the image", choices=[16, 32, 64, 128], default=64),
        num_outputs: int = Input(description="Number of images", ge=1, le=4, default=1),
        num_inference_steps: int = Input(description="Steps", ge=1, le=500, default=5),
        guidance_scale: float = Input(description="Guidance", ge=1, le=20, default=7.5),
        scheduler: str = Input(default="DDIM", choices=SCHEDULERS.keys(), description="Scheduler"),
        seed: Optional[int] = Input(description="Leave blank to randomize", default=None),
    ) -> List[Path]:
        """Run a single prediction on the model"""
        if seed is None:
            seed = int.from_bytes(os.urandom(2), "big")
        print(f"Using seed: {seed}")
        self.pipe.scheduler = SCHEDULERS[scheduler].from_config({})
        output = self.pipe(
            prompt if negative_prompt is None else prompt + negative_prompt,
            width,
            height,
            num_outputs,
            num_inference_steps,
            guidance_scale,
            random.Random(seed),
            lambda step: print(f"step {step}"),
        )
        folder = tempfile.mkdtemp()
        paths = []
        for i, image in enumerate(output.images):
            path = os.path.join(folder, f"out-{i}.png")
            image.save(path)
            paths.append(Path(path))
        return paths
