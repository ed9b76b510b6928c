import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { defineAsyncComponent, h } from 'vue';
import CopyPage from './copy-page.vue';

/** The theme of VitePress, with links to the source above each page, and the form of the page `/explain`. */
export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, undefined, { 'doc-before': () => h(CopyPage) }),
  enhanceApp({ app }) {
    app.component(
      'ExplainToken',
      defineAsyncComponent(() => import('./explain-token.vue')),
    );
  },
} satisfies Theme;
