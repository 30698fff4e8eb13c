import { defineConfig } from "vite";

// Nothing is inlined: the server's content security policy allows only files of its own.
export default defineConfig({
  base: "/",
  build: {
    outDir: "../src/dibs/dashboard/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    target: "es2022",
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: { proxy: { "/api": "http://127.0.0.1:7341", "/ws": { target: "ws://127.0.0.1:7341", ws: true } } },
});
