/** Targets that a server of files may read as `/admin/x.txt`. */
export const spellings = String.raw`
  /admin/x.txt /admin//x.txt //admin/x.txt ///admin/x.txt /./admin/x.txt /x/../admin/x.txt /%61dmin/x.txt
  /admin%2fx.txt /%2fadmin/x.txt /ADMIN/x.txt /admin\x.txt /admin;a/x.txt /%2e/admin/x.txt /a/%2e%2e/admin/x.txt
  /admin/./x.txt /.//admin/x.txt /%2e%2fadmin/x.txt http://h/admin/x.txt http://h//admin/x.txt
  http://h/%61dmin/x.txt /adm%69n/x.txt /admin%5cx.txt`
  .trim()
  .split(/\s+/);
