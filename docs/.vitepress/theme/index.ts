import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { defineAsyncComponent, h } from 'vue';
import CopyPage from './copy-page.vue';
import HomeStart from './home-start.vue';

/** The theme of VitePress, with a first screen, links to the source beside each title, and the form of the page `/explain`. */
export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, undefined, { 'doc-before': () => h(HomeStart) }),
  enhanceApp({ app }) {
    app.component('CopyPage', CopyPage);
    app.component(
      'ExplainToken',
      defineAsyncComponent(() => import('./explain-token.vue')),
    );
  },
} satisfies Theme;
