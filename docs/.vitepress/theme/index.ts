import { type Theme, useRoute } from 'vitepress';
import DefaultTheme from 'vitepress/theme';
import { defineAsyncComponent, h, onMounted, watch } from 'vue';
import CopyPage from './copy-page.vue';
import HomeStart from './home-start.vue';

/** Scrolls the sidebar to the entry of the open page, if other sections have pushed it out of sight. */
function showEntry(): void {
  const sidebar = document.querySelector('.VPSidebar');
  const entry = sidebar?.querySelector('.is-link.is-active');
  if (!sidebar || !entry) return;
  const [frame, place] = [sidebar.getBoundingClientRect(), entry.getBoundingClientRect()];
  if (place.top < frame.top || place.bottom > frame.bottom)
    sidebar.scrollTop += place.top - frame.top - frame.height / 2;
}

/** The theme of VitePress, with a first screen, links to the source below the outline, and the form of the page `/explain`. */
export default {
  extends: DefaultTheme,
  Layout: () =>
    h(DefaultTheme.Layout, undefined, {
      'doc-before': () => h(HomeStart),
      'aside-outline-after': () => h(CopyPage),
      // Where there is no room for the outline.
      'doc-footer-before': () => h(CopyPage, { class: 'below' }),
    }),
  setup() {
    const route = useRoute();
    // The section of the page opens first.
    const show = () => void requestAnimationFrame(showEntry);
    onMounted(() => watch(() => route.path, show, { immediate: true, flush: 'post' }));
  },
  enhanceApp({ app }) {
    app.component(
      'ExplainToken',
      defineAsyncComponent(() => import('./explain-token.vue')),
    );
  },
} satisfies Theme;
