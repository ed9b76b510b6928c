import { useSpareKeys } from './spare-keys.ts';

useSpareKeys('processes');
