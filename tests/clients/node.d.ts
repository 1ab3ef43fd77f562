// What client.ts uses of Node.js.
declare module "node:assert/strict" {
  const assert: {
    equal(got: unknown, want: unknown): void;
    deepEqual(got: unknown, want: unknown): void;
    match(got: string, want: RegExp): void;
  };
  export default assert;
}
declare const process: { argv: string[] };
