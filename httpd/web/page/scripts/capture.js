// Pictures of the camera and recordings of the microphone, as files. Browsers allow both on pages from https and localhost only.

const canCapture = () => Boolean(navigator.mediaDevices?.getUserMedia);

// accepts reports whether a file input may take files of a kind. It says so by x-cog-accept, else by the words of its name.
function accepts(name, schema, kind) {
  const accept = schema["x-cog-accept"];
  if (accept) return accept.includes(kind + "/") || accept.includes("*/*");
  const words = `${name} ${schema.description ?? ""}`.toLowerCase();
  const hints = { image: /image|picture|photo|img|mask|frame/, audio: /audio|sound|speech|voice|song|music|recording/ };
  const other = kind === "image" ? hints.audio : hints.image;
  return hints[kind].test(words) || !other.test(words);
}

// captureButtons returns the buttons of an input that takes such files. They call take with the captured file in a list.
function captureButtons(name, schema, take) {
  const ways = [["image", "Camera", takePicture], ["audio", "Microphone", record]].filter(([kind]) => canCapture() && accepts(name, schema, kind));
  return ways.map(([, word, capture]) => {
    const button = make("button", { type: "button", className: "plain", "aria-label": `${name}: ${word.toLowerCase()}` }, word);
    button.addEventListener("click", () => capture(button, take));
    return button;
  });
}

// withDevice opens a dialog around a device's stream, which ends with the dialog. It shows the errors of fill.
async function withDevice(wants, title, button, fill) {
  let stream = null;
  const close = make("button", { type: "button", className: "plain" }, "Cancel");
  const body = make("div", {}, make("p", { className: "help" }, "Waiting for your permission …"));
  const dialog = make("dialog", { className: "capture", "aria-label": title }, make("h2", {}, title), body, close);
  let open = true;
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("close", () => {
    open = false;
    stream?.getTracks().forEach((track) => track.stop());
  });
  openDialog(dialog, button);
  try {
    stream = await navigator.mediaDevices.getUserMedia(wants);
    if (!open) return stream.getTracks().forEach((track) => track.stop());
    await fill(stream, body, dialog);
  } catch (error) {
    const why = { NotAllowedError: "The browser does not allow it.", NotFoundError: "There is no such device." }[error.name];
    body.replaceChildren(make("p", { className: "error", role: "alert" }, why ?? String(error.message || error)));
  }
}

const stamp = () => new Date().toISOString().slice(0, 19).replaceAll(/[-:T]/g, "");

function takePicture(button, take) {
  withDevice({ video: true }, "Camera", button, async (stream, body, dialog) => {
    const video = make("video", { srcObject: stream, muted: true, playsInline: true, "aria-label": "What the camera sees" });
    const shoot = make("button", { type: "button" }, "Take the picture");
    shoot.addEventListener("click", () => {
      const canvas = make("canvas", { width: video.videoWidth, height: video.videoHeight });
      canvas.getContext("2d").drawImage(video, 0, 0);
      canvas.toBlob((blob) => {
        take([new File([blob], `camera-${stamp()}.jpg`, { type: "image/jpeg" })]);
        dialog.close();
      }, "image/jpeg", 0.92);
    });
    body.replaceChildren(video);
    await video.play();
    body.append(shoot);
    shoot.focus();
  });
}

function record(button, take) {
  withDevice({ audio: true }, "Microphone", button, async (stream, body, dialog) => {
    const recorder = new MediaRecorder(stream), parts = [], began = performance.now();
    const time = make("p", { className: "help" }, "Recording, 0 s");
    const stop = make("button", { type: "button" }, "Stop and use");
    const clock = setInterval(() => (time.textContent = `Recording, ${Math.round((performance.now() - began) / 1000)} s`), 500);
    recorder.addEventListener("dataavailable", (e) => parts.push(e.data));
    stop.addEventListener("click", () => recorder.stop());
    dialog.addEventListener("close", () => clearInterval(clock));
    const stopped = new Promise((done) => recorder.addEventListener("stop", done));
    body.replaceChildren(time, stop);
    recorder.start();
    stop.focus();
    await stopped; // also when the dialog ends the stream
    if (!dialog.open) return;
    take([new File([await wavOf(new Blob(parts))], `microphone-${stamp()}.wav`, { type: "audio/wav" })]);
    dialog.close();
  });
}

// wavOf converts a recording to WAV with one channel of 16-bit samples, which every audio library reads.
async function wavOf(recording) {
  const context = new AudioContext();
  try {
    const sound = await context.decodeAudioData(await recording.arrayBuffer());
    const channels = Array.from({ length: sound.numberOfChannels }, (_, i) => sound.getChannelData(i));
    const samples = Int16Array.from({ length: sound.length }, (_, at) => {
      const mean = channels.reduce((sum, channel) => sum + channel[at], 0) / channels.length;
      return Math.max(-1, Math.min(1, mean)) * 32767;
    });
    const size = samples.length * 2, rate = sound.sampleRate, text = (word) => [4, word.split("").reduceRight((n, c) => n * 256 + c.charCodeAt(0), 0)];
    const head = packed(text("RIFF"), [4, 36 + size], text("WAVE"), text("fmt "), [4, 16], [2, 1], [2, 1], [4, rate], [4, rate * 2], [2, 2], [2, 16], text("data"), [4, size]);
    return new Blob([head, samples], { type: "audio/wav" });
  } finally {
    context.close();
  }
}
