import { defineConfig } from 'vite';

// One script, one style sheet, names without hashes: both are committed in ../dist and embedded in the program.
export default defineConfig({
  base: './',
  build: {
    outDir: '../dist',
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: false,
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1500,
    reportCompressedSize: false,
    rollupOptions: {
      output: { entryFileNames: 'page.js', assetFileNames: 'page.[ext]' },
    },
  },
});
