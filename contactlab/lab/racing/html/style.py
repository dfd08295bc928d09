"""Looks of the page, and the few lines of script by which its rows are filtered and its tables sorted."""

from __future__ import annotations

__all__ = ["SCRIPT", "STYLE"]

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#1b1b1b;background:#fff;margin:0}
main{max-width:1180px;margin:0 auto;padding:1.5rem}
h1,h2,h3{line-height:1.2;margin:1.6em 0 .5em}h1{margin-top:0}
.wide{overflow-x:auto}
table{border-collapse:collapse;font-size:13px;margin:.5em 0}
th,td{padding:.22em .6em;border-bottom:1px solid #ddd;text-align:left;vertical-align:top}
th{background:#f3f3f3;position:sticky;top:0;cursor:pointer;white-space:nowrap}
td{overflow-wrap:anywhere}
td.number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;overflow-wrap:normal}
td.good{color:#00693e;font-weight:600}td.bad{color:#a32c00}
table.many th{white-space:normal;font-size:11px;vertical-align:bottom;overflow-wrap:anywhere;min-width:3.6em}
table.many td{padding:.2em .4em}
table.many td:first-child,table.many th:first-child{position:sticky;left:0;background:#fff;white-space:nowrap}
table.upright th:not(:first-child){writing-mode:vertical-rl;transform:rotate(180deg);text-align:left;
white-space:nowrap;min-width:0;position:static}
table.facts td:first-child,table.summary td:nth-child(-n+2){white-space:nowrap}
table.rows{font-size:12px}table.rows td.detail{max-width:24em;color:#555}
.small{font-size:13px;color:#444}
svg{width:100%;height:auto;font:12px system-ui,sans-serif}
svg .plane{fill:#fcfcfc;stroke:#999}svg .grid{stroke:#e4e4e4}
svg .tick{fill:#444}svg .axis{fill:#111;font-size:13px}svg .key{fill:#111}
svg .series{stroke-width:1.7}svg .series:hover{stroke-width:4}
input{font:inherit;padding:.2em .4em}
@media print{th{position:static}.filter{display:none}}
"""

SCRIPT = """
(function(){
var input=document.getElementById('filter'),shown=document.getElementById('shown');
var rows=Array.prototype.slice.call(document.querySelectorAll('table.rows tbody tr'));
function filter(){
  var words=input.value.toLowerCase().split(/\\s+/).filter(Boolean),count=0;
  rows.forEach(function(row){
    var text=row.textContent.toLowerCase();
    var fits=words.every(function(word){return text.indexOf(word)>=0});
    row.style.display=fits?'':'none';count+=fits;
  });
  shown.textContent=count+' of '+rows.length+' rows';
}
input.addEventListener('input',filter);filter();
function value(row,i){
  var text=row.cells[i].textContent,match=/^(-?[\\d.]+(?:e[-+]?\\d+)?)\\s*(us|ms|s)?(?:$|[ /])/.exec(text);
  if(!match)return text==='-'||text==='inf'?Infinity:text;
  return parseFloat(match[1])*({us:1e-6,ms:1e-3}[match[2]]||1);
}
document.querySelectorAll('th').forEach(function(th){
  th.addEventListener('click',function(){
    var body=th.closest('table').tBodies[0],i=th.cellIndex,down=th.dataset.down!=='1';
    th.dataset.down=down?'1':'0';
    Array.prototype.slice.call(body.rows).sort(function(a,b){
      var x=value(a,i),y=value(b,i),order=typeof x===typeof y?(x>y)-(x<y):typeof x==='number'?-1:1;
      return down?order:-order;
    }).forEach(function(row){body.appendChild(row)});
  });
});
})();
"""
