import { defineConfig } from "vite";

// One script and one stylesheet with fixed names, which `dibs report` puts into its page.
export default defineConfig({
  publicDir: false,
  build: {
    outDir: "../src/dibs/dashboard/static",
    emptyOutDir: false,
    lib: { entry: "src/report/main.tsx", formats: ["iife"], name: "dibsReport", fileName: () => "report.js", cssFileName: "report" },
    minify: true,
    target: "es2022",
  },
  define: { "process.env.NODE_ENV": '"production"' },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
