import type { Theme } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { defineAsyncComponent } from 'vue';

/** The theme of VitePress, with the form of the page `/explain`. */
export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component(
      'ExplainToken',
      defineAsyncComponent(() => import('./explain-token.vue')),
    );
  },
} satisfies Theme;
