// What the OpenAPI document says about the model: its inputs and its output.

const model = { document: null, source: "" };

// LoadError means that the server did not return its document.
class LoadError extends Error {
  constructor(status) {
    super(status === 401 ? "This server requires a token." : "The model is not set up yet.");
    this.wantsToken = status === 401;
  }
}

// loadModel fetches the document, and reports whether it has changed. The server has one once the model is set up.
async function loadModel() {
  const response = await request("/openapi.json");
  if (!response.ok) throw new LoadError(response.status);
  const source = await response.text();
  if (source === model.source) return false;
  Object.assign(model, { document: parseExact(source), source });
  return true;
}

const schemas = () => model.document?.components?.schemas ?? {};

// resolve follows $ref, and the allOf that stands around the $ref of an enum.
function resolve(schema) {
  if (schema.$ref) return { ...resolve(schemas()[schema.$ref.split("/").pop()] ?? {}), ...schema, $ref: undefined };
  if (schema.allOf) {
    const parts = schema.allOf.map(resolve).reduce((all, part) => ({ ...all, ...part }), {});
    return { ...parts, ...schema, allOf: undefined };
  }
  return schema;
}

const isTraining = () => document.querySelector("[name=kind]:checked").value === "trainings";
const collection = () => (isTraining() ? "trainings" : "predictions");
const operation = () => model.document?.paths?.["/" + collection()]?.post ?? {};
const inputSchema = () => resolve(schemas()[isTraining() ? "TrainingInput" : "Input"] ?? {});
const outputSchema = () => resolve(schemas()[isTraining() ? "TrainingOutput" : "Output"] ?? {});

// isStreaming reports whether the server sends the output as it comes: each iterator, with or without @streaming.
const isStreaming = () => !isTraining() && (operation()["x-cog-streaming"] === true || outputSchema()["x-cog-array-type"] === "iterator");

// isText reports whether the output's items are pieces of one text.
const isText = () => outputSchema()["x-cog-array-display"] === "concatenate" || (writesText() && outputSchema().items?.type === "string");

const isFile = (schema) => schema.type === "string" && schema.format === "uri";
const isFileList = (schema) => schema.type === "array" && isFile(resolve(schema.items ?? {}));

// isSecret reports whether values of a schema contain a secret. The depth is limited, because schemas may be recursive.
function isSecret(schema, depth = 0) {
  const parts = [schema.items, ...(schema.anyOf ?? []), ...Object.values(schema.properties ?? {})];
  return schema.format === "password" || (depth < 8 && parts.some((part) => part && isSecret(resolve(part), depth + 1)));
}

// typeOf says in a few words what an input takes.
function typeOf(schema) {
  if (isFile(schema)) return "file";
  if (isFileList(schema)) return "files";
  if (schema.format === "password") return "secret";
  if (schema.enum) return "choice";
  if (schema.type === "array") return isRowList(schema) && !resolve(schema.items).enum ? `list of ${resolve(schema.items).type}s` : "list";
  if (schema.type === "object" || !schema.type) return isTable(schema) ? "keys and values" : "JSON";
  const { minimum: low, maximum: high } = schema;
  if (low !== undefined && high !== undefined) return `${schema.type}, ${low} to ${high}`;
  if (low !== undefined) return `${schema.type}, from ${low}`;
  if (high !== undefined) return `${schema.type}, up to ${high}`;
  return schema.type;
}
